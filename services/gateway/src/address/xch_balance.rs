//! `GET /address/xch-balance/{address}`

use super::Asked;
use super::shapes::{SUCCESS, Xch};
use crate::cache::Key;
use crate::error::ApiError;
use crate::gateway::Gateway;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

/// The XCH balance of an address: all its unspent XCH coins.
#[derive(Serialize, ToSchema)]
pub(crate) struct XchBalance {
    /// `success`.
    status: &'static str,
    #[serde(flatten)]
    balance: Xch,
}

/// XCH balance.
///
/// Counts unspent XCH coins, not the mojos inside CAT, NFT, DID or other singleton coins. Without `include_dust`, dust
/// (coins below 10,000 mojos, unless this deployment has another limit) is left out. Change and fees are in no
/// list, so lists do not add up to balances.
#[utoipa::path(get, operation_id = "xch_balance", path = "/address/xch-balance/{address}", tag = "address",
    params(("address" = String, Path, description = "an address of the network served"),
           ("include_dust" = Option<bool>, Query, description = "count dust coins too; false without")),
    responses((status = 200, body = XchBalance)))]
pub(crate) async fn handle(State(gateway): State<Gateway>, asked: Asked) -> Result<Response, ApiError> {
    let dust = asked.query(&gateway)?.flag("include_dust", false)?;
    let owners = vec![asked.owner(&gateway)?];
    let key = Key { route: "xch-balance", owners: owners.clone(), parameters: vec![u64::from(dust)] };
    let compose = || async {
        let (as_of, found) = gateway.addresses().balances(&owners, false).await?;
        let balance = found.iter().map(|b| if dust { b.xch } else { b.xch.saturating_sub(b.dust) }).sum();
        Ok((as_of, XchBalance { status: SUCCESS, balance: Xch::new(balance) }))
    };
    Ok(gateway.answer(key, compose).await?.respond(&asked.headers))
}
