//! Shapes that several answers have in common.

use crate::clients::address::Transfer;
use crate::gateway::Gateway;
use crate::number::{Exact, Mojos};
use mojoscan_domain::{Bytes32, LauncherId, address, amount, clock};
use serde::Serialize;
use utoipa::ToSchema;

/// The mark of every answer that is one.
pub(crate) const SUCCESS: &str = "success";

/// An amount of XCH.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct Xch {
    /// In XCH.
    pub(crate) xch: Exact,
    /// In mojos.
    pub(crate) mojo: Mojos,
}

impl Xch {
    pub(crate) fn new(mojos: u128) -> Self {
        Self { xch: Exact(amount::xch(mojos)), mojo: Mojos(mojos) }
    }
}

/// A token balance.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Token {
    /// The asset id, 64 hexadecimal digits.
    pub(crate) asset_id: String,
    /// The asset id as `tkn1…`.
    pub(crate) token_id: String,
    /// In tokens.
    pub(crate) balance: Exact,
    /// Null if unknown.
    pub(crate) name: Option<String>,
    /// Null if unknown.
    pub(crate) symbol: Option<String>,
}

impl Token {
    pub(crate) fn new(asset: Bytes32, balance: u128) -> Self {
        Self {
            asset_id: asset.to_string(),
            token_id: address::encode(address::TOKEN, asset),
            balance: Exact(amount::cat(balance)),
            name: None,
            symbol: None,
        }
    }
}

/// An NFT that an address holds.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Nft {
    /// As `nft1…`.
    pub(crate) nft_id: String,
    /// Null if unknown.
    pub(crate) name: Option<String>,
    /// As `col1…`; null if it is in none, or unknown.
    pub(crate) collection_id: Option<String>,
    /// Null if unknown.
    pub(crate) preview_url: Option<String>,
}

impl Nft {
    pub(crate) fn new(launcher: LauncherId) -> Self {
        let nft_id = address::encode(address::NFT, launcher);
        Self { nft_id, name: None, collection_id: None, preview_url: None }
    }
}

/// A page of a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Paged<T: ToSchema> {
    /// Newest first.
    pub(crate) transactions: Vec<T>,
    /// The number to send for the next page; null when there is nothing more.
    pub(crate) next_cursor: Option<u64>,
    /// The length of the whole list. In lists of XCH only on the first page, else null.
    pub(crate) total_count: Option<u64>,
}

/// What all items of lists have.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Common {
    /// The coin, 64 hexadecimal digits.
    pub(crate) coin_id: String,
    /// The block's time.
    #[schema(example = "2024-10-23T07:21:34.000Z")]
    pub(crate) time: String,
    /// The block's height.
    pub(crate) height: u32,
}

impl Common {
    pub(crate) fn new(transfer: &Transfer) -> Self {
        Self {
            coin_id: transfer.coin.to_string(),
            time: clock::iso8601(transfer.timestamp),
            height: transfer.height,
        }
    }
}

/// The other side, and the memos: `to` in lists of what was sent, `from` in lists of what was received.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Other {
    /// To whom it went. Only in lists of what was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    pub(crate) to: Option<String>,
    /// Who sent it; null for a farming reward. Only in lists of what was received.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(crate) from: Option<Option<String>>,
    /// The memos in order, the hint included, as hexadecimal digits; null if there are none.
    pub(crate) memo: Option<Vec<String>>,
}

impl Other {
    pub(crate) fn new(gateway: &Gateway, transfer: &Transfer, sent: bool) -> Self {
        let party = transfer.party.map(|party| gateway.address_of(party));
        let (to, from) = if sent { (party, None) } else { (None, Some(party)) };
        let memo = (!transfer.memos.is_empty()).then(|| transfer.memos.iter().map(hex::encode).collect());
        Self { to, from, memo }
    }
}
