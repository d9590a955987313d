//! `GET /address/nft-balance/{address}`

use super::Asked;
use super::shapes::{Nft, SUCCESS};
use crate::cache::Key;
use crate::error::{ApiError, ErrorCode};
use crate::gateway::Gateway;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

/// Most NFTs in one answer.
const NFTS_MAX: u32 = 10_000;

/// The NFTs of an address, latest acquired first.
#[derive(Serialize, ToSchema)]
pub(crate) struct NftBalance {
    /// `success`.
    status: &'static str,
    balance: Vec<Nft>,
}

/// NFTs held.
///
/// At most 10,000; an address that holds more is answered with 400 `too_many`.
#[utoipa::path(get, operation_id = "nft_balance", path = "/address/nft-balance/{address}", tag = "address",
    params(("address" = String, Path, description = "an address of the network served")),
    responses((status = 200, body = NftBalance)))]
pub(crate) async fn handle(State(gateway): State<Gateway>, asked: Asked) -> Result<Response, ApiError> {
    asked.query(&gateway)?;
    let owners = vec![asked.owner(&gateway)?];
    let key = Key { route: "nft-balance", owners: owners.clone(), parameters: vec![] };
    let compose = || async {
        let (as_of, found) = gateway.addresses().nfts(&owners, NFTS_MAX).await?;
        if let Some(nfts) = found.iter().find(|nfts| nfts.total > u64::from(NFTS_MAX)) {
            let message = format!(
                "this address holds {} NFTs, more than the {NFTS_MAX} of one answer; page through \
                 /address/nft-transaction/{{address}}",
                nfts.total
            );
            return Err(ApiError::bad_request(ErrorCode::TooMany, message));
        }
        let balance = found.iter().flat_map(|nfts| &nfts.held).map(|(nft, _)| Nft::new(*nft)).collect();
        Ok((as_of, NftBalance { status: SUCCESS, balance }))
    };
    Ok(gateway.answer(key, compose).await?.respond(&asked.headers))
}
