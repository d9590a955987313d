//! `GET /address/transactions/{address}`

use super::Asked;
use super::shapes::SUCCESS;
use crate::cache::Key;
use crate::clients::address::CoinEntry;
use crate::error::ApiError;
use crate::gateway::Gateway;
use crate::number::Exact;
use axum::extract::State;
use axum::response::Response;
use mojoscan_domain::{Kind, PuzzleHash, address, amount, clock};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Most coins in one answer.
const COINS_MAX: u32 = 1_000;

/// The newest coins of an address.
#[derive(Serialize, ToSchema)]
pub(crate) struct Transactions {
    /// `success`.
    status: &'static str,
    data: CoinList,
}

/// Coins, and how many there are.
#[derive(Serialize, ToSchema)]
pub(crate) struct CoinList {
    /// Newest first, at most 1,000.
    coins: Vec<CoinObject>,
    /// How many coins the address ever had.
    #[serde(rename = "rowCount")]
    row_count: u64,
    /// CAT balances in tokens, by asset id.
    cat_balance: BTreeMap<String, Exact>,
}

/// A coin of an address.
#[derive(Serialize, ToSchema)]
pub(crate) struct CoinObject {
    /// The coin's id, 64 hexadecimal digits.
    coin_name: String,
    /// Height of the block that created it.
    confirmed_block: String,
    /// Height of the block that spent it; null while it is unspent.
    spend_block: Option<String>,
    /// The coin whose spend made it.
    parent_coin: String,
    /// What it is: `STND`, `CAT`, `NFT`, `DID`, `SNGL` or `SETL`.
    coin_mod: &'static str,
    owner_address: String,
    #[schema(example = "2024-10-23T07:21:34.000Z")]
    confirmed_time: String,
    /// Null while it is unspent.
    spend_time: Option<String>,
    /// Who paid it; null for a farming reward.
    from_address: Option<String>,
    /// Its first printable memo.
    memo: Option<String>,
    /// In XCH; for a CAT coin in tokens.
    amount: String,
    /// In mojos.
    amount_mojo: String,
    /// What spent it: `coinbase`, `transfer`, `nft_transfer`, `nft_mint`, `offer`, `cat_issue`, `cat_melt`, `did`,
    /// `nft_update`, `burn` or `other`; null while it is unspent.
    spend_txn_type: Option<&'static str>,
    /// `confirmed_time` in seconds since 1970.
    timestamp: u64,
    /// The same as `confirmed_txn_id`.
    id: Option<String>,
    /// Whether it is a farming reward.
    coinbase: bool,
    /// The transaction that created it, as `txn1…`; null for a farming reward.
    confirmed_txn_id: Option<String>,
    /// The transaction that spent it, as `txn1…`; null while it is unspent.
    spend_txn_id: Option<String>,
    /// `NAN` for XCH and settlement, `CAT`, `NFT`, `DID`, or `OTHER`.
    r#type: &'static str,
}

/// Coins of an address.
///
/// Newest first, at most 1,000. Change is here, unlike in the lists.
#[utoipa::path(get, operation_id = "transactions", path = "/address/transactions/{address}", tag = "address",
    params(("address" = String, Path, description = "an address of the network served")),
    responses((status = 200, body = Transactions)))]
pub(crate) async fn handle(State(gateway): State<Gateway>, asked: Asked) -> Result<Response, ApiError> {
    asked.query(&gateway)?;
    let owner = asked.owner(&gateway)?;
    let key = Key { route: "transactions", owners: vec![owner], parameters: vec![] };
    let compose = || async {
        let (as_of, found) = gateway.addresses().coins(owner, COINS_MAX).await?;
        let cats =
            found.cats.iter().map(|(asset, balance)| (asset.to_string(), Exact(amount::cat(*balance))));
        let data = CoinList {
            coins: found.coins.into_iter().map(|coin| coin_object(&gateway, owner, coin)).collect(),
            row_count: found.total,
            cat_balance: cats.collect(),
        };
        Ok((as_of, Transactions { status: SUCCESS, data }))
    };
    Ok(gateway.answer(key, compose).await?.respond(&asked.headers))
}

fn coin_object(gateway: &Gateway, owner: PuzzleHash, coin: CoinEntry) -> CoinObject {
    let (height, timestamp) = coin.created;
    let transaction_id = |transaction: &mojoscan_domain::record::Transaction| {
        address::encode(address::TRANSACTION, transaction.id)
    };
    let created_by = coin.created_by.as_ref().map(transaction_id);
    let mojos = u128::from(coin.amount);
    let amount = if coin.asset.kind == Kind::Cat { amount::cat(mojos) } else { amount::xch(mojos) };
    CoinObject {
        coin_name: coin.id.to_string(),
        confirmed_block: height.to_string(),
        spend_block: coin.spent.map(|((height, _), _)| height.to_string()),
        parent_coin: coin.parent.to_string(),
        coin_mod: coin.asset.kind.code(),
        owner_address: gateway.address_of(owner),
        confirmed_time: clock::iso8601(timestamp),
        spend_time: coin.spent.map(|((_, time), _)| clock::iso8601(time)),
        from_address: coin.sender.map(|sender| gateway.address_of(sender)),
        memo: coin.memo,
        amount: amount.to_string(),
        amount_mojo: coin.amount.to_string(),
        spend_txn_type: coin.spent.map(|(_, by)| by.kind.name()),
        timestamp,
        id: created_by.clone(),
        coinbase: coin.created_by.is_none(),
        confirmed_txn_id: created_by,
        spend_txn_id: coin.spent.as_ref().map(|(_, by)| transaction_id(by)),
        r#type: match coin.asset.kind {
            Kind::Standard | Kind::Settlement => "NAN",
            Kind::Cat => "CAT",
            Kind::Nft => "NFT",
            Kind::Did => "DID",
            Kind::Singleton => "OTHER",
        },
    }
}
