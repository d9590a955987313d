//! Records as protobuf, both ways.

mod blocks;
mod coins;

pub(super) use blocks::{Block, decode_blocks, encode_block, encode_blocks_rewind};
pub(super) use coins::{decode_coins, encode_coins};

use mojoscan_domain::record::{Transaction, TransactionType};
use mojoscan_domain::{Asset, BlockId, Bytes32, Kind};
use mojoscan_proto::common::v1 as common;

/// Why bytes are not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unreadable(String);

impl From<prost::DecodeError> for Unreadable {
    fn from(error: prost::DecodeError) -> Self {
        Self(format!("not a record: {error}"))
    }
}

/// What must be there.
fn required<T>(value: Option<T>, what: &str) -> Result<T, Unreadable> {
    value.ok_or_else(|| Unreadable(format!("{what} is missing")))
}

fn bytes(value: Bytes32) -> Vec<u8> {
    value.to_bytes().to_vec()
}

fn bytes32(value: &[u8], what: &str) -> Result<Bytes32, Unreadable> {
    Bytes32::try_from(value).map_err(|error| Unreadable(format!("{what}: {error}")))
}

/// Thirty-two bytes, or none.
fn optional_bytes32(value: &[u8], what: &str) -> Result<Option<Bytes32>, Unreadable> {
    if value.is_empty() { Ok(None) } else { bytes32(value, what).map(Some) }
}

fn block_id(block: BlockId) -> common::BlockId {
    common::BlockId { height: block.height, hash: bytes(block.hash) }
}

fn read_block_id(block: &common::BlockId) -> Result<BlockId, Unreadable> {
    Ok(BlockId { height: block.height, hash: bytes32(&block.hash, "header hash")? })
}

fn read_optional_block_id(block: Option<&common::BlockId>) -> Result<Option<BlockId>, Unreadable> {
    block.map(read_block_id).transpose()
}

fn asset(asset: Asset) -> common::Asset {
    let kind = match asset.kind {
        Kind::Standard => common::Kind::Standard,
        Kind::Cat => common::Kind::Cat,
        Kind::Nft => common::Kind::Nft,
        Kind::Did => common::Kind::Did,
        Kind::Singleton => common::Kind::Singleton,
        Kind::Settlement => common::Kind::Settlement,
    };
    common::Asset { kind: kind.into(), id: asset.id.map(bytes).unwrap_or_default() }
}

fn read_asset(asset: Option<common::Asset>) -> Result<Asset, Unreadable> {
    let asset = required(asset, "asset")?;
    let kind = match asset.kind() {
        common::Kind::Unspecified => return Err(Unreadable(format!("asset of unknown kind {}", asset.kind))),
        common::Kind::Standard => Kind::Standard,
        common::Kind::Cat => Kind::Cat,
        common::Kind::Nft => Kind::Nft,
        common::Kind::Did => Kind::Did,
        common::Kind::Singleton => Kind::Singleton,
        common::Kind::Settlement => Kind::Settlement,
    };
    Ok(Asset { kind, id: optional_bytes32(&asset.id, "asset id")? })
}

fn transaction(transaction: Transaction) -> common::Transaction {
    // the numbers are those of the public interface, in both
    common::Transaction { id: bytes(transaction.id), r#type: transaction.kind.number().into() }
}

fn read_transaction(transaction: &common::Transaction) -> Result<Transaction, Unreadable> {
    let kind = u8::try_from(transaction.r#type).ok().and_then(TransactionType::from_number);
    let unknown = || Unreadable(format!("transaction of unknown type {}", transaction.r#type));
    Ok(Transaction { id: bytes32(&transaction.id, "transaction id")?, kind: kind.ok_or_else(unknown)? })
}
