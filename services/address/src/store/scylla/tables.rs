//! The statements, and the reads that several verbs share.

use super::rows::{AccountCell, StoredCoin};
use super::{ScyllaAddressOptions, rewind};
use crate::projection::{Account, AssetId, CoinRow};
use futures::future::try_join_all;
use mojoscan_domain::{CoinId, PuzzleHash};
use mojoscan_engines::scylla::{Amount, Checkpoint, Cql, Hash, Meta, Number, Settings, Statement, damaged};
use mojoscan_pipeline::{Partition, StoreError};
use std::future::Future;

/// Heights in a partition of heads.
pub(super) const BUCKET_HEIGHTS: u32 = 1 << 15;
/// Numbers in a partition of coins, of a list, of NFTs.
pub(super) const BUCKET_NUMBERS: u64 = 1 << 14;
/// Buckets of heads that are looked into at a time: if the newest holds no head that is old enough, the next one does.
const BUCKETS_AT_ONCE: usize = 2;

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Every statement, prepared.
        pub(super) struct Statements {
            $($(#[$doc])* pub(super) $name: Statement,)*
        }

        impl Statements {
            async fn prepare(cql: &Cql) -> Result<Self, StoreError> {
                Ok(Self { $($name: cql.prepare($text).await?,)* })
            }
        }
    };
}

statements! {
    find_owner = "SELECT account, account_buckets, nft_buckets FROM address_owners WHERE owner = ? LIMIT 1",
    list_balances = "SELECT asset, balance, balance_buckets FROM address_owners WHERE owner = ?",
    find_balances = "SELECT asset, balance, balance_buckets FROM address_owners WHERE owner = ? AND asset IN ?",
    put_account = "UPDATE address_owners SET account = ?, account_buckets = account_buckets + ? WHERE owner = ?",
    put_nft_buckets = "UPDATE address_owners SET nft_buckets = nft_buckets + ? WHERE owner = ?",
    put_balance =
        "UPDATE address_owners SET balance = ?, balance_buckets = balance_buckets + ? WHERE owner = ? AND asset = ?",
    restore_account = "UPDATE address_owners SET account = ?, account_buckets = account_buckets - ?, \
        nft_buckets = nft_buckets - ? WHERE owner = ?",
    restore_balance =
        "UPDATE address_owners SET balance = ?, balance_buckets = balance_buckets - ? WHERE owner = ? AND asset = ?",
    forget_owner = "DELETE FROM address_owners WHERE owner = ?",
    forget_balance = "DELETE FROM address_owners WHERE owner = ? AND asset = ?",

    find_account_at = "SELECT height, account FROM address_accounts \
        WHERE owner = ? AND bucket = ? AND height <= ? LIMIT 1",
    put_account_at = "INSERT INTO address_accounts (owner, bucket, height, account) VALUES (?, ?, ?, ?)",
    forget_accounts = "DELETE FROM address_accounts WHERE owner = ? AND bucket = ? AND height >= ?",
    scan_accounts = "SELECT owner, height, account FROM address_accounts",

    find_balance_at = "SELECT height, balance FROM address_balances \
        WHERE owner = ? AND asset = ? AND bucket = ? AND height <= ? LIMIT 1",
    put_balance_at = "INSERT INTO address_balances (owner, asset, bucket, height, balance) VALUES (?, ?, ?, ?, ?)",
    forget_balances = "DELETE FROM address_balances WHERE owner = ? AND asset = ? AND bucket = ? AND height >= ?",
    scan_balances = "SELECT owner, asset, height, balance FROM address_balances",

    find_coin = "SELECT number, id, parent, puzzle_hash, amount, kind, asset, sender, memo, created, spent \
        FROM address_coins WHERE owner = ? AND bucket = ? AND number = ?",
    list_coins = "SELECT number, id, parent, puzzle_hash, amount, kind, asset, sender, memo, created, spent \
        FROM address_coins WHERE owner = ? AND bucket = ? AND number >= ? AND number <= ?",
    put_coin = "INSERT INTO address_coins (owner, bucket, number, id, parent, puzzle_hash, amount, kind, asset, \
        sender, memo, created, spent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    put_spent = "UPDATE address_coins SET spent = ? WHERE owner = ? AND bucket = ? AND number = ?",
    forget_spent = "DELETE spent FROM address_coins WHERE owner = ? AND bucket = ? AND number = ?",
    forget_coins = "DELETE FROM address_coins WHERE owner = ? AND bucket = ? AND number >= ?",
    scan_coins = "SELECT owner, number, id, parent, puzzle_hash, amount, kind, asset, sender, memo, created, spent \
        FROM address_coins",

    find_number = "SELECT owner, number, height FROM address_coin_numbers WHERE id = ?",
    put_number = "INSERT INTO address_coin_numbers (id, owner, number, height) VALUES (?, ?, ?, ?)",
    forget_number = "DELETE FROM address_coin_numbers WHERE id = ?",

    list_items = "SELECT number, coin, height, timestamp, amount, asset, party, memos FROM address_items \
        WHERE owner = ? AND list = ? AND bucket = ? AND number >= ? AND number <= ?",
    put_item = "INSERT INTO address_items (owner, list, bucket, number, coin, height, timestamp, amount, asset, \
        party, memos) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    forget_items = "DELETE FROM address_items WHERE owner = ? AND list = ? AND bucket = ? AND number >= ?",
    scan_items = "SELECT owner, list, number, coin, height, timestamp, amount, asset, party, memos FROM address_items",

    list_nfts = "SELECT number, launcher, coin, acquired, lost FROM address_nfts \
        WHERE owner = ? AND bucket = ? AND number <= ? LIMIT ?",
    put_nft = "INSERT INTO address_nfts (owner, bucket, number, launcher, coin, acquired, lost) \
        VALUES (?, ?, ?, ?, ?, ?, ?)",
    put_lost = "UPDATE address_nfts SET lost = ? WHERE owner = ? AND bucket = ? AND number = ?",
    forget_lost = "DELETE lost FROM address_nfts WHERE owner = ? AND bucket = ? AND number = ?",
    forget_nfts = "DELETE FROM address_nfts WHERE owner = ? AND bucket = ? AND number >= ?",

    list_journal = "SELECT owner, account, balances, made, spent, lost FROM address_journal \
        WHERE shard = ? AND height = ?",
    put_journal = "INSERT INTO address_journal (shard, height, owner, account, balances, made, spent, lost) \
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    forget_journal = "DELETE FROM address_journal WHERE shard = ? AND height = ?",
}

/// The tables of the address projection.
pub(super) struct Tables {
    pub(super) cql: Cql,
    pub(super) meta: Meta,
    pub(super) sql: Statements,
    options: ScyllaAddressOptions,
}

/// What stands for the present of an owner: the newest head with its height, and where older ones and NFTs are.
#[derive(Debug, Default)]
pub(super) struct Present {
    head: Option<(u32, Account)>,
    buckets: Vec<u32>,
    /// Buckets of numbers that have, or once had, an NFT.
    pub(super) nft_buckets: Vec<u64>,
}

/// The same of an owner's balance of a CAT.
#[derive(Debug)]
pub(super) struct PresentBalance {
    pub(super) asset: AssetId,
    head: Option<(u32, u128)>,
    buckets: Vec<u32>,
}

/// A row of an owner's balances. The asset is null in the row of an owner who has none.
pub(super) type BalanceRow = (Option<Hash>, Option<(Number, Amount)>, Option<Vec<Number>>);

impl Tables {
    pub(super) async fn open(
        cql: &Cql,
        settings: &Settings,
        options: &ScyllaAddressOptions,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            cql: cql.clone(),
            meta: Meta::open(cql, "address", settings).await?,
            sql: Statements::prepare(cql).await?,
            options: options.clone(),
        })
    }

    pub(super) const fn undo_depth(&self) -> u32 {
        self.options.undo_depth
    }

    pub(super) fn partition_of(&self, owner: PuzzleHash) -> Partition {
        mojoscan_pipeline::partition_of(owner.as_slice(), self.options.partitions)
    }

    /// How far a partition is. A rewind that somebody has begun is finished first.
    pub(super) async fn settled(&self, partition: Partition) -> Result<Checkpoint, StoreError> {
        let state = self.meta.state(&self.cql, partition).await?;
        if let Some(rewinding) = state.rewinding {
            rewind::undo(self, partition, &state.checkpoint, rewinding).await?;
        }
        Ok(state.checkpoint)
    }

    /// The present of an owner.
    pub(super) async fn present(&self, owner: PuzzleHash) -> Result<Present, StoreError> {
        type Row = (Option<(Number, AccountCell)>, Option<Vec<Number>>, Option<Vec<Number>>);
        let row = self.cql.find::<Row>(&self.sql.find_owner, (Hash(owner),)).await?;
        let Some((head, buckets, nft_buckets)) = row else { return Ok(Present::default()) };
        let head = head.map(|(height, account)| Ok((height.height()?, account.try_into()?)));
        let nft_buckets = nft_buckets.unwrap_or_default().into_iter().map(|bucket| bucket.0).collect();
        Ok(Present { head: head.transpose()?, buckets: heights(buckets)?, nft_buckets })
    }

    /// The newest head of an owner at or below a height, with its height.
    pub(super) async fn account_at(
        &self,
        owner: PuzzleHash,
        present: &Present,
        height: u32,
    ) -> Result<Option<(u32, Account)>, StoreError> {
        match present.head {
            None => Ok(None),
            Some(head) if head.0 <= height => Ok(Some(head)),
            Some(_) => {
                let head = newest(&present.buckets, height, |bucket| {
                    let key = (Hash(owner), Number::from(bucket), Number::from(height));
                    self.cql.find::<(Number, AccountCell)>(&self.sql.find_account_at, key)
                });
                let head = head.await?;
                head.map(|(height, account)| Ok((height.height()?, account.try_into()?))).transpose()
            }
        }
    }

    /// The newest balance at or below a height, with its height.
    pub(super) async fn balance_at(
        &self,
        owner: PuzzleHash,
        present: &PresentBalance,
        height: u32,
    ) -> Result<Option<(u32, u128)>, StoreError> {
        match present.head {
            None => Ok(None),
            Some(head) if head.0 <= height => Ok(Some(head)),
            Some(_) => {
                let (owner, asset) = (Hash(owner), Hash(present.asset));
                let head = newest(&present.buckets, height, |bucket| {
                    let key = (owner, asset, Number::from(bucket), Number::from(height));
                    self.cql.find::<(Number, Amount)>(&self.sql.find_balance_at, key)
                });
                let head = head.await?;
                head.map(|(height, balance)| Ok((height.height()?, balance.0))).transpose()
            }
        }
    }

    /// A coin as it was at a height, with its number, if this owner held it by then.
    pub(super) async fn coin_at(
        &self,
        owner: PuzzleHash,
        id: CoinId,
        height: u32,
    ) -> Result<Option<(u64, CoinRow)>, StoreError> {
        let Some(number) = self.coin_number(owner, id, height).await? else { return Ok(None) };
        let found = self.coin(owner, number).await?.filter(|row| row.id == id);
        let row = found.ok_or_else(|| damaged(format!("coin {id} has a number but no row")))?;
        Ok(Some((number, row.at(height))))
    }

    /// The number of a coin, if this owner held it by a height.
    pub(super) async fn coin_number(
        &self,
        owner: PuzzleHash,
        id: CoinId,
        height: u32,
    ) -> Result<Option<u64>, StoreError> {
        let found = self.cql.find::<(Hash, Number, Number)>(&self.sql.find_number, (Hash(id),)).await?;
        let held = found.filter(|(holder, _, created)| holder.0 == owner && *created <= height.into());
        Ok(held.map(|(_, number, _)| number.0))
    }

    /// A coin by its number.
    pub(super) async fn coin(&self, owner: PuzzleHash, number: u64) -> Result<Option<CoinRow>, StoreError> {
        let key = (Hash(owner), number_bucket(number), Number(number));
        let found = self.cql.find::<StoredCoin>(&self.sql.find_coin, key).await?;
        found.map(|row| <(u64, CoinRow)>::try_from(row).map(|(_, row)| row)).transpose()
    }
}

impl PresentBalance {
    /// The present that a row tells of; none if it tells only that there is an owner.
    pub(super) fn new((asset, head, buckets): BalanceRow) -> Result<Option<Self>, StoreError> {
        let Some(Hash(asset)) = asset else { return Ok(None) };
        let head = head.map(|(height, balance)| Ok((height.height()?, balance.0))).transpose()?;
        Ok(Some(Self { asset, head, buckets: heights(buckets)? }))
    }
}

/// The newest head at or below a height, of those in the buckets.
async fn newest<T, F>(buckets: &[u32], height: u32, find: impl Fn(u32) -> F) -> Result<Option<T>, StoreError>
where
    F: Future<Output = Result<Option<T>, StoreError>>,
{
    let mut buckets: Vec<u32> =
        buckets.iter().copied().filter(|bucket| *bucket <= height / BUCKET_HEIGHTS).collect();
    buckets.sort_unstable_by(|a, b| b.cmp(a));
    for some in buckets.chunks(BUCKETS_AT_ONCE) {
        let found = try_join_all(some.iter().map(|bucket| find(*bucket))).await?;
        if let Some(head) = found.into_iter().flatten().next() {
            return Ok(Some(head));
        }
    }
    Ok(None)
}

fn heights(buckets: Option<Vec<Number>>) -> Result<Vec<u32>, StoreError> {
    buckets.unwrap_or_default().into_iter().map(Number::height).collect()
}

/// The bucket of a height.
pub(super) fn height_bucket(height: u32) -> Number {
    Number::from(height / BUCKET_HEIGHTS)
}

/// The bucket of a number.
pub(super) const fn number_bucket(number: u64) -> Number {
    Number(number / BUCKET_NUMBERS)
}

/// The buckets that numbers from one to another are in.
pub(super) fn number_buckets(first: u64, last: u64) -> impl DoubleEndedIterator<Item = u64> {
    first / BUCKET_NUMBERS..=last / BUCKET_NUMBERS
}

/// Does something with a failure of either kind only if the rows were still being read at an epoch.
pub(super) async fn within<T>(
    tables: &Tables,
    partition: Partition,
    epoch: u64,
    read: impl Future<Output = Result<T, StoreError>>,
) -> Result<Option<T>, StoreError> {
    let found = read.await;
    let now = tables.meta.state(&tables.cql, partition).await?.checkpoint.position.epoch;
    if now == epoch { found.map(Some) } else { Ok(None) }
}
