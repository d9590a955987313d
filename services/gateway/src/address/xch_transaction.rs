//! `GET /address/xch-transaction/{address}`

use super::Asked;
use super::pages::{Wanted, paged};
use super::shapes::{Common, Other, Paged, SUCCESS};
use crate::cache::Key;
use crate::clients::address::{List, Page, Transfer};
use crate::error::ApiError;
use crate::gateway::Gateway;
use crate::number::Exact;
use axum::extract::State;
use axum::response::Response;
use mojoscan_domain::amount;
use serde::Serialize;
use utoipa::ToSchema;

/// XCH sent and received. Only the lists that were asked for are present.
#[derive(Serialize, ToSchema)]
pub(crate) struct XchTransactions {
    /// `success`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    send_transactions: Option<Paged<XchItem>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received_transactions: Option<Paged<XchItem>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    send_dust_transactions: Option<Paged<XchItem>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received_dust_transactions: Option<Paged<XchItem>>,
}

/// XCH that was sent or received.
#[derive(Serialize, ToSchema)]
pub(crate) struct XchItem {
    #[serde(flatten)]
    common: Common,
    /// In XCH.
    amount_xch: Exact,
    /// In mojos.
    amount_mojo: u64,
    #[serde(flatten)]
    other: Other,
}

/// The lists, the flag that asks for each, whether it is asked for without the flag, and its cursor.
const LISTS: [(List, &str, bool, &str); 4] = [
    (List::XchSent, "include_send", true, "send_cursor"),
    (List::XchReceived, "include_received", true, "received_cursor"),
    (List::DustSent, "include_send_dust", false, "send_dust_cursor"),
    (List::DustReceived, "include_received_dust", false, "received_dust_cursor"),
];

/// XCH history.
///
/// What was sent and what was received, dust (below 10,000 mojos, unless this deployment has another limit) apart,
/// each list paged by itself. Coins an address pays to itself are in no list, nor are fees, so lists do not add up to
/// balances.
#[utoipa::path(get, operation_id = "xch_transaction", path = "/address/xch-transaction/{address}", tag = "address",
    params(("address" = String, Path, description = "an address of the network served"),
           ("count" = Option<u32>, Query, description = "items of each list; 1 to 1000, 100 without"),
           ("include_send" = Option<bool>, Query, description = "true without"),
           ("include_received" = Option<bool>, Query, description = "true without"),
           ("include_send_dust" = Option<bool>, Query, description = "false without"),
           ("include_received_dust" = Option<bool>, Query, description = "false without"),
           ("send_cursor" = Option<u64>, Query, description = "next_cursor of the page before"),
           ("received_cursor" = Option<u64>, Query, description = "next_cursor of the page before"),
           ("send_dust_cursor" = Option<u64>, Query, description = "next_cursor of the page before"),
           ("received_dust_cursor" = Option<u64>, Query, description = "next_cursor of the page before")),
    responses((status = 200, body = XchTransactions)))]
pub(crate) async fn handle(State(gateway): State<Gateway>, asked: Asked) -> Result<Response, ApiError> {
    let wanted = wanted(&asked, &gateway)?;
    let key = Key { route: "xch-transaction", owners: vec![wanted.owner], parameters: wanted.parameters() };
    let compose = || async {
        let (as_of, pages) = wanted.read(&gateway).await?;
        let page = |list, sent| {
            let mut found = wanted.lists.iter().zip(&pages).filter(|((wanted, _), _)| *wanted == list);
            found.next().map(|((_, cursor), page)| xch_page(&gateway, page, *cursor == 0, sent))
        };
        let body = XchTransactions {
            status: SUCCESS,
            send_transactions: page(List::XchSent, true),
            received_transactions: page(List::XchReceived, false),
            send_dust_transactions: page(List::DustSent, true),
            received_dust_transactions: page(List::DustReceived, false),
        };
        Ok((as_of, body))
    };
    Ok(gateway.answer(key, compose).await?.respond(&asked.headers))
}

fn wanted(asked: &Asked, gateway: &Gateway) -> Result<Wanted, ApiError> {
    let query = asked.query(gateway)?;
    let mut lists = vec![];
    for (list, flag, default, cursor) in LISTS {
        let cursor = query.cursor(cursor)?;
        if query.flag(flag, default)? {
            lists.push((list, cursor));
        }
    }
    Ok(Wanted { owner: asked.owner(gateway)?, count: query.count()?, lists })
}

fn xch_page(gateway: &Gateway, page: &Page, first: bool, sent: bool) -> Paged<XchItem> {
    paged(page, first, |transfer: &Transfer| XchItem {
        common: Common::new(transfer),
        amount_xch: Exact(amount::xch(transfer.amount.into())),
        amount_mojo: transfer.amount,
        other: Other::new(gateway, transfer, sent),
    })
}
