//! From rows to the wire.

use crate::projection::{Account, AssetId, Moment};
use mojoscan_domain::record::{Transaction, TransactionType};
use mojoscan_domain::{Asset, BlockId, Kind};
use mojoscan_proto::address::v1 as proto;
use mojoscan_proto::common::v1 as common;

/// A block at a height; without its hash where no watermark named it.
pub(super) fn block(height: u32, named: Option<BlockId>) -> common::BlockId {
    named.map_or(common::BlockId { height, hash: vec![] }, block_id)
}

pub(super) fn block_id(block: BlockId) -> common::BlockId {
    common::BlockId { height: block.height, hash: block.hash.to_bytes().to_vec() }
}

pub(super) fn balances(account: &Account, cats: &[(AssetId, u128)]) -> proto::Balances {
    proto::Balances {
        xch: amount(account.xch),
        dust: amount(account.dust),
        received: amount(account.received),
        sent: amount(account.sent),
        coins: account.coins,
        nfts: account.nfts,
        cats: cat_balances(cats),
    }
}

pub(super) fn cat_balances(cats: &[(AssetId, u128)]) -> Vec<proto::CatBalance> {
    cats.iter()
        .map(|(asset, balance)| proto::CatBalance {
            asset_id: asset.to_bytes().to_vec(),
            balance: amount(*balance),
        })
        .collect()
}

pub(super) fn asset(asset: Asset) -> common::Asset {
    let kind = match asset.kind {
        Kind::Standard => common::Kind::Standard,
        Kind::Cat => common::Kind::Cat,
        Kind::Nft => common::Kind::Nft,
        Kind::Did => common::Kind::Did,
        Kind::Singleton => common::Kind::Singleton,
        Kind::Settlement => common::Kind::Settlement,
    };
    let id = asset.id.map(|id| id.to_bytes().to_vec()).unwrap_or_default();
    common::Asset { kind: kind.into(), id }
}

pub(super) fn transaction(transaction: Transaction) -> common::Transaction {
    let kind = match transaction.kind {
        TransactionType::Other => common::TransactionType::Other,
        TransactionType::Coinbase => common::TransactionType::Coinbase,
        TransactionType::Transfer => common::TransactionType::Transfer,
        TransactionType::NftTransfer => common::TransactionType::NftTransfer,
        TransactionType::NftMint => common::TransactionType::NftMint,
        TransactionType::Offer => common::TransactionType::Offer,
        TransactionType::CatIssue => common::TransactionType::CatIssue,
        TransactionType::CatMelt => common::TransactionType::CatMelt,
        TransactionType::Did => common::TransactionType::Did,
        TransactionType::NftUpdate => common::TransactionType::NftUpdate,
        TransactionType::Burn => common::TransactionType::Burn,
    };
    common::Transaction { id: transaction.id.to_bytes().to_vec(), r#type: kind.into() }
}

pub(super) const fn moment(moment: Moment) -> proto::Moment {
    proto::Moment { height: moment.height, timestamp: moment.timestamp }
}

fn amount(mojos: u128) -> Vec<u8> {
    mojos.to_be_bytes().to_vec()
}
