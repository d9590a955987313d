//! The tables, their keys and their values.

use crate::projection::{AssetId, CoinRow, List};
use fjall::{Keyspace, OwnedWriteBatch};
use mojoscan_domain::{Bytes32, CoinId, LauncherId, PuzzleHash};
use mojoscan_engines::embedded::{Embedded, Key, Meta, Settings, encode};
use mojoscan_pipeline::StoreError;
use serde::{Deserialize, Serialize};

/// The tables of the address projection.
pub(super) struct Tables {
    pub(super) embedded: Embedded,
    pub(super) meta: Meta,
    pub(super) accounts: Keyspace,
    pub(super) balances: Keyspace,
    pub(super) coins: Keyspace,
    pub(super) coin_numbers: Keyspace,
    pub(super) items: Keyspace,
    pub(super) nfts: Keyspace,
    pub(super) past_nfts: Keyspace,
    pub(super) journal: Keyspace,
    pub(super) journal_depth: u32,
}

/// Where a coin's row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CoinNumber {
    pub(super) owner: PuzzleHash,
    pub(super) number: u64,
}

/// An NFT that is or was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NftRow {
    pub(super) launcher: LauncherId,
    pub(super) coin: CoinId,
    pub(super) acquired: u32,
}

/// What one block touched: where a rewind has to look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) owners: Vec<PuzzleHash>,
    pub(super) balances: Vec<(PuzzleHash, AssetId)>,
    /// Coins that the block spent.
    pub(super) spent: Vec<(PuzzleHash, u64)>,
}

impl Tables {
    pub(super) fn open(
        embedded: &Embedded,
        settings: &Settings,
        journal_depth: u32,
    ) -> Result<Self, StoreError> {
        let table = |name: &str| embedded.table(&format!("address.{name}"));
        Ok(Self {
            meta: Meta::open(embedded, "address", settings)?,
            accounts: table("accounts")?,
            balances: table("balances")?,
            coins: table("coins")?,
            coin_numbers: table("coin_numbers")?,
            items: table("items")?,
            nfts: table("nfts")?,
            past_nfts: table("past_nfts")?,
            journal: table("journal")?,
            embedded: embedded.clone(),
            journal_depth,
        })
    }

    /// Writes a coin, and where it stands among the NFTs.
    pub(super) fn put_coin(
        &self,
        batch: &mut OwnedWriteBatch,
        owner: PuzzleHash,
        number: u64,
        row: &CoinRow,
    ) -> Result<(), StoreError> {
        batch.insert(&self.coins, coin_key(owner, number), encode(row)?);
        let Some(nft) = nft_row(row) else { return Ok(()) };
        match row.spent {
            None => {
                batch.insert(&self.nfts, coin_key(owner, number), encode(&nft)?);
            }
            Some(spend) => {
                batch.remove(&self.nfts, coin_key(owner, number));
                batch.insert(&self.past_nfts, past_nft_key(owner, spend.at.height, number), encode(&nft)?);
            }
        }
        Ok(())
    }
}

fn nft_row(row: &CoinRow) -> Option<NftRow> {
    let launcher = row.asset.id.filter(|_| row.is_kept_nft())?;
    Some(NftRow { launcher, coin: row.id, acquired: row.created.height })
}

pub(super) fn account_key(owner: PuzzleHash, height: u32) -> Key {
    Key::new().hash(owner).newest_height(height)
}

pub(super) fn balance_key(owner: PuzzleHash, asset: AssetId, height: u32) -> Key {
    Key::new().hash(owner).hash(asset).newest_height(height)
}

pub(super) fn coin_key(owner: PuzzleHash, number: u64) -> Key {
    Key::new().hash(owner).newest(number)
}

pub(super) fn item_key(owner: PuzzleHash, list: List, number: u64) -> Key {
    Key::new().hash(owner).byte(list as u8).newest(number)
}

pub(super) fn past_nft_key(owner: PuzzleHash, height: u32, number: u64) -> Key {
    Key::new().hash(owner).height(height).number(number)
}

pub(super) fn journal_key(height: u32) -> Key {
    Key::new().height(height)
}

/// The 32 bytes at a place of a key.
pub(super) fn hash_at(key: &[u8], at: usize) -> Result<Bytes32, StoreError> {
    let bytes = key.get(at..at + 32).unwrap_or_default();
    Bytes32::try_from(bytes).map_err(|_| damaged())
}

/// The newest-first height that ends a key.
pub(super) fn last_height(key: &[u8]) -> Result<u32, StoreError> {
    let bytes = key.last_chunk::<4>().ok_or_else(damaged)?;
    Ok(u32::MAX - u32::from_be_bytes(*bytes))
}

/// The newest-first number that ends a key.
pub(super) fn last_number(key: &[u8]) -> Result<u64, StoreError> {
    let bytes = key.last_chunk::<8>().ok_or_else(damaged)?;
    Ok(u64::MAX - u64::from_be_bytes(*bytes))
}

pub(super) fn damaged() -> StoreError {
    StoreError::Broken("a key of the embedded store is damaged".to_owned())
}
