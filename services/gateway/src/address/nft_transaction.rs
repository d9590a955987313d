//! `GET /address/nft-transaction/{address}`

use super::Asked;
use super::pages::{Wanted, paged};
use super::shapes::{Common, Other, Paged, SUCCESS};
use crate::cache::Key;
use crate::clients::address::{List, Transfer};
use crate::error::ApiError;
use crate::gateway::Gateway;
use axum::extract::State;
use axum::response::Response;
use mojoscan_domain::address;
use serde::Serialize;
use utoipa::ToSchema;

/// NFTs sent and received.
#[derive(Serialize, ToSchema)]
pub(crate) struct NftTransactions {
    /// `success`.
    status: &'static str,
    send_transactions: Paged<NftItem>,
    received_transactions: Paged<NftItem>,
}

/// An NFT that was sent or received.
#[derive(Serialize, ToSchema)]
pub(crate) struct NftItem {
    #[serde(flatten)]
    common: Common,
    /// As `nft1…`.
    nft_id: String,
    #[serde(flatten)]
    other: Other,
}

/// NFT history.
///
/// What was sent and what was received, each paged by itself.
#[utoipa::path(get, operation_id = "nft_transaction", path = "/address/nft-transaction/{address}", tag = "address",
    params(("address" = String, Path, description = "an address of the network served"),
           ("count" = Option<u32>, Query, description = "items of each list; 1 to 1000, 100 without"),
           ("send_cursor" = Option<u64>, Query, description = "next_cursor of the page before"),
           ("received_cursor" = Option<u64>, Query, description = "next_cursor of the page before")),
    responses((status = 200, body = NftTransactions)))]
pub(crate) async fn handle(State(gateway): State<Gateway>, asked: Asked) -> Result<Response, ApiError> {
    let wanted = Wanted::both(&asked, &gateway, List::NftSent, List::NftReceived)?;
    let key = Key { route: "nft-transaction", owners: vec![wanted.owner], parameters: wanted.parameters() };
    let compose = || async {
        let (as_of, pages) = wanted.read(&gateway).await?;
        let item = |sent| {
            let gateway = &gateway;
            move |transfer: &Transfer| NftItem::new(gateway, transfer, sent)
        };
        let send_transactions = paged(&pages[0], true, item(true));
        let received_transactions = paged(&pages[1], true, item(false));
        Ok((as_of, NftTransactions { status: SUCCESS, send_transactions, received_transactions }))
    };
    Ok(gateway.answer(key, compose).await?.respond(&asked.headers))
}

impl NftItem {
    fn new(gateway: &Gateway, transfer: &Transfer, sent: bool) -> Self {
        Self {
            common: Common::new(transfer),
            nft_id: address::encode(address::NFT, transfer.asset.unwrap_or_default()),
            other: Other::new(gateway, transfer, sent),
        }
    }
}
