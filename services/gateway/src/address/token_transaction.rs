//! `GET /address/token-transaction/{address}`

use super::Asked;
use super::pages::{Wanted, paged};
use super::shapes::{Common, Other, Paged, SUCCESS};
use crate::cache::Key;
use crate::clients::address::{List, Transfer};
use crate::error::ApiError;
use crate::gateway::Gateway;
use crate::number::Exact;
use axum::extract::State;
use axum::response::Response;
use mojoscan_domain::{Bytes32, address, amount};
use serde::Serialize;
use utoipa::ToSchema;

/// Tokens sent and received.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenTransactions {
    /// `success`.
    status: &'static str,
    send_transactions: Paged<TokenItem>,
    received_transactions: Paged<TokenItem>,
}

/// Tokens that were sent or received.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenItem {
    #[serde(flatten)]
    common: Common,
    /// In tokens.
    token_amount: Exact,
    /// The asset id, 64 hexadecimal digits.
    asset_id: String,
    /// The asset id as `tkn1…`.
    token_id: String,
    #[serde(flatten)]
    other: Other,
}

/// Token (CAT) history.
///
/// What was sent and what was received, each paged by itself. Coins an address pays to itself are in neither list.
#[utoipa::path(get, operation_id = "token_transaction", path = "/address/token-transaction/{address}", tag = "address",
    params(("address" = String, Path, description = "an address of the network served"),
           ("count" = Option<u32>, Query, description = "items of each list; 1 to 1000, 100 without"),
           ("send_cursor" = Option<u64>, Query, description = "next_cursor of the page before"),
           ("received_cursor" = Option<u64>, Query, description = "next_cursor of the page before")),
    responses((status = 200, body = TokenTransactions)))]
pub(crate) async fn handle(State(gateway): State<Gateway>, asked: Asked) -> Result<Response, ApiError> {
    let wanted = Wanted::both(&asked, &gateway, List::CatSent, List::CatReceived)?;
    let key = Key { route: "token-transaction", owners: vec![wanted.owner], parameters: wanted.parameters() };
    let compose = || async {
        let (as_of, pages) = wanted.read(&gateway).await?;
        let item = |sent| {
            let gateway = &gateway;
            move |transfer: &Transfer| TokenItem::new(gateway, transfer, sent)
        };
        let send_transactions = paged(&pages[0], true, item(true));
        let received_transactions = paged(&pages[1], true, item(false));
        Ok((as_of, TokenTransactions { status: SUCCESS, send_transactions, received_transactions }))
    };
    Ok(gateway.answer(key, compose).await?.respond(&asked.headers))
}

impl TokenItem {
    fn new(gateway: &Gateway, transfer: &Transfer, sent: bool) -> Self {
        let asset: Bytes32 = transfer.asset.unwrap_or_default();
        Self {
            common: Common::new(transfer),
            token_amount: Exact(amount::cat(transfer.amount.into())),
            asset_id: asset.to_string(),
            token_id: address::encode(address::TOKEN, asset),
            other: Other::new(gateway, transfer, sent),
        }
    }
}
