//! Takes back everything above a block.
//!
//! What the digest will be is worked out before anything is changed, from rows that are all there; after that the
//! journal alone says what to delete, so that a rewind that was cut off is simply done again.

use super::journal::{self, Entry};
use super::load::elsewhere;
use super::rows::{AccountCell, StoredCoin, StoredItem, list_number};
use super::tables::{BalanceRow, PresentBalance, Tables, height_bucket, number_bucket, number_buckets};
use crate::projection::{Account, AssetId, CoinRow, Item, List, digest};
use mojoscan_domain::{CoinId, Digest, LauncherId, Position, PuzzleHash};
use mojoscan_engines::scylla::{Amount, Checkpoint, Hash, Number, Rewinding, Writes};
use mojoscan_pipeline::{Partition, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

pub(super) async fn rewind(
    tables: &Tables,
    partition: Partition,
    at: Position,
    to: Position,
) -> Result<(), StoreError> {
    let now = tables.settled(partition).await?;
    if now.position.seq >= to.seq {
        // this writer, or another, has been here before
        return Ok(());
    }
    if now.position.epoch != at.epoch || now.position.seq < at.seq {
        return Err(elsewhere(now.position, at));
    }
    let target = to.block.map(|block| block.height);
    if first_above(target) < now.undo_floor {
        let oldest = now.undo_floor.saturating_sub(1);
        return Err(StoreError::TooDeep { to: target.unwrap_or(0), oldest });
    }
    let left = now.digest - removed(tables, partition, target, now.height()).await?;
    if let Some(height) = target
        && let Some(then) = tables.meta.find_at(&tables.cql, partition, height).await?
        && then.digest != left
    {
        return Err(StoreError::Broken(format!(
            "undoing to height {height} leaves other rows than there were"
        )));
    }
    let unmoved = tables.meta.state(&tables.cql, partition).await?;
    if unmoved.checkpoint != now {
        return Err(StoreError::Unavailable("another writer moved the partition meanwhile".to_owned()));
    }
    let rewound = now.at(to, left);
    let mut writes = Writes::default();
    tables.meta.begin_rewind(&mut writes, partition, &rewound, now.height())?;
    tables.cql.write(to.seq, writes).await?;
    stop_here!("address-cql-rewind-position");
    undo(tables, partition, &rewound, Rewinding { seq: to.seq, from: now.height() }).await
}

/// Deletes everything above the checkpoint of a rewind that has begun.
pub(super) async fn undo(
    tables: &Tables,
    partition: Partition,
    checkpoint: &Checkpoint,
    rewinding: Rewinding,
) -> Result<(), StoreError> {
    let (target, seq) = (checkpoint.height(), rewinding.seq);
    if let Some(from) = rewinding.from {
        let above = Above { tables, target, from };
        let touched = touched(journal::read(tables, partition, above.heights()).await?);
        let found = tables.cql.each(touched, |(owner, touched): (PuzzleHash, Touched)| async move {
            let base = above.base(owner, &touched).await?;
            Ok((owner, touched, base))
        });
        let mut writes = Writes::default();
        for (owner, touched, base) in found.await? {
            above.forget(&mut writes, owner, &touched, &base)?;
        }
        tables.cql.write(seq, writes).await?;
        stop_here!("address-cql-rewind-rows");

        let mut writes = Writes::default();
        journal::forget(tables, &mut writes, partition, above.heights())?;
        tables.meta.forget_above(&mut writes, partition, target, rewinding.from)?;
        tables.meta.remember(&mut writes, partition, checkpoint)?;
        tables.cql.write(seq, writes).await?;
        stop_here!("address-cql-rewind-journal");
    }
    let mut writes = Writes::default();
    tables.meta.end_rewind(&mut writes, partition, seq)?;
    tables.cql.write(seq, writes).await?;
    stop_here!("address-cql-rewind-end");
    Ok(())
}

/// What the rows above a height add to the digest.
async fn removed(
    tables: &Tables,
    partition: Partition,
    target: Option<u32>,
    from: Option<u32>,
) -> Result<Digest, StoreError> {
    let Some(from) = from else { return Ok(Digest::EMPTY) };
    let above = Above { tables, target, from };
    let touched = touched(journal::read(tables, partition, above.heights()).await?);
    let part = |(owner, touched): (PuzzleHash, Touched)| async move { above.digest(owner, &touched).await };
    let parts = tables.cql.each(touched, part);
    Ok(parts.await?.into_iter().fold(Digest::EMPTY, |sum, part| sum + part))
}

/// The lowest height that does not stay.
fn first_above(target: Option<u32>) -> u32 {
    target.map_or(0, |height| height + 1)
}

/// What the blocks that are undone touched of one owner.
#[derive(Debug, Default)]
struct Touched {
    heads: BTreeMap<u32, Account>,
    balances: BTreeMap<AssetId, BTreeMap<u32, u128>>,
    made: Vec<CoinId>,
    spent: BTreeSet<u64>,
    lost: BTreeSet<u64>,
}

impl Touched {
    /// The head before the rewind: every list was this long.
    fn newest(&self) -> Account {
        self.heads.last_key_value().map(|(_, account)| *account).unwrap_or_default()
    }
}

fn touched(entries: Vec<(u32, PuzzleHash, Entry)>) -> BTreeMap<PuzzleHash, Touched> {
    let mut owners: BTreeMap<PuzzleHash, Touched> = BTreeMap::new();
    for (height, owner, entry) in entries {
        let touched = owners.entry(owner).or_default();
        touched.heads.insert(height, entry.account);
        for (asset, balance) in entry.balances {
            touched.balances.entry(asset).or_default().insert(height, balance);
        }
        touched.made.extend(entry.made);
        touched.spent.extend(entry.spent);
        touched.lost.extend(entry.lost);
    }
    owners
}

/// What stays of an owner.
struct Base {
    head: Option<(u32, Account)>,
    balances: BTreeMap<AssetId, Option<(u32, u128)>>,
    /// Buckets of numbers in which no NFT stays.
    nft_buckets: Vec<Number>,
}

impl Base {
    fn account(&self) -> Account {
        self.head.map(|(_, account)| account).unwrap_or_default()
    }
}

/// Everything above a block, up to a height.
#[derive(Clone, Copy)]
struct Above<'a> {
    tables: &'a Tables,
    target: Option<u32>,
    from: u32,
}

impl Above<'_> {
    fn heights(&self) -> RangeInclusive<u32> {
        first_above(self.target)..=self.from
    }

    /// The buckets of heights that are touched.
    fn height_buckets(&self) -> impl Iterator<Item = Number> + use<> {
        (height_bucket(first_above(self.target)).0..=height_bucket(self.from).0).map(Number)
    }

    /// The buckets of heights that are of no use once the newest head is at a height.
    fn buckets_above(&self, head: u32) -> Vec<Number> {
        (height_bucket(head).0 + 1..=height_bucket(self.from).0).map(Number).collect()
    }

    /// What an owner has at the target.
    async fn account(&self, owner: PuzzleHash) -> Result<Option<(u32, Account)>, StoreError> {
        let Some(target) = self.target else { return Ok(None) };
        let present = self.tables.present(owner).await?;
        self.tables.account_at(owner, &present, target).await
    }

    async fn base(&self, owner: PuzzleHash, touched: &Touched) -> Result<Base, StoreError> {
        let head = self.account(owner).await?;
        let mut base = Base { head, balances: BTreeMap::new(), nft_buckets: vec![] };
        for asset in touched.balances.keys() {
            let at = self.balance(owner, *asset).await?;
            base.balances.insert(*asset, at);
        }
        let (stay, were) = (base.account().coins, touched.newest().coins);
        if stay < were {
            let stays = self.has_nft(owner, stay).await?;
            let first = number_bucket(stay).0 + u64::from(stays);
            base.nft_buckets = (first..=number_bucket(were).0).map(Number).collect();
        }
        Ok(base)
    }

    async fn balance(&self, owner: PuzzleHash, asset: AssetId) -> Result<Option<(u32, u128)>, StoreError> {
        let Some(target) = self.target else { return Ok(None) };
        let (cql, sql) = (&self.tables.cql, &self.tables.sql);
        let row = cql.find::<BalanceRow>(&sql.find_balances, (Hash(owner), vec![Hash(asset)])).await?;
        match row.map(PresentBalance::new).transpose()?.flatten() {
            Some(present) => self.tables.balance_at(owner, &present, target).await,
            None => Ok(None),
        }
    }

    /// Whether there is an NFT among the numbers of a bucket that stay.
    async fn has_nft(&self, owner: PuzzleHash, last: u64) -> Result<bool, StoreError> {
        type Row = (Number, Option<Hash>, Option<Hash>, Option<Number>, Option<Number>);
        let key = (Hash(owner), number_bucket(last), Number(last), 1_i32);
        let found = self.tables.cql.find::<Row>(&self.tables.sql.list_nfts, key).await?;
        let launcher: Option<LauncherId> = found.and_then(|row| row.1).map(|launcher| launcher.0);
        Ok(launcher.is_some())
    }

    /// What an owner's rows add to the digest.
    async fn digest(&self, owner: PuzzleHash, touched: &Touched) -> Result<Digest, StoreError> {
        let (cql, sql) = (&self.tables.cql, &self.tables.sql);
        let stay = self.account(owner).await?.map(|(_, account)| account).unwrap_or_default();
        let were = touched.newest();
        let mut sum = Digest::EMPTY;
        for (height, account) in &touched.heads {
            sum += digest::account(owner, *height, account);
        }
        for (asset, heads) in &touched.balances {
            for (height, balance) in heads {
                sum += digest::balance(owner, *asset, *height, *balance);
            }
        }
        for number in touched.spent.iter().filter(|number| **number <= stay.coins) {
            if let Some(row) = self.tables.coin(owner, *number).await? {
                sum += digest::spent(owner, *number, &row.at(self.from));
            }
        }
        for bucket in number_buckets(stay.coins + 1, were.coins) {
            let key = (Hash(owner), Number(bucket), Number(stay.coins + 1), Number(were.coins));
            for row in cql.rows::<StoredCoin>(&sql.list_coins, key).await? {
                let (number, row) = <(u64, CoinRow)>::try_from(row)?;
                let row = row.at(self.from);
                sum += digest::created(owner, number, &row) + digest::spent(owner, number, &row);
            }
        }
        for list in List::ALL {
            let (stay, were) = (stay.lists[list as usize], were.lists[list as usize]);
            for bucket in number_buckets(stay + 1, were) {
                let key = (Hash(owner), list_number(list), Number(bucket), Number(stay + 1), Number(were));
                for row in cql.rows::<StoredItem>(&sql.list_items, key).await? {
                    let (number, item) = <(u64, Item)>::try_from(row)?;
                    sum += digest::item(owner, list, number, &item);
                }
            }
        }
        Ok(sum)
    }

    /// Deletes what does not stay of an owner, there or not, and puts back the present that was.
    fn forget(
        &self,
        writes: &mut Writes,
        owner: PuzzleHash,
        touched: &Touched,
        base: &Base,
    ) -> Result<(), StoreError> {
        let sql = &self.tables.sql;
        let first = Number::from(first_above(self.target));
        for bucket in self.height_buckets() {
            writes.push(&sql.forget_accounts, (Hash(owner), bucket, first))?;
            for asset in touched.balances.keys() {
                writes.push(&sql.forget_balances, (Hash(owner), Hash(*asset), bucket, first))?;
            }
        }
        let (stay, were) = (base.account(), touched.newest());
        for bucket in number_buckets(stay.coins + 1, were.coins) {
            let key = (Hash(owner), Number(bucket), Number(stay.coins + 1));
            writes.push(&sql.forget_coins, key)?;
            writes.push(&sql.forget_nfts, key)?;
        }
        for list in List::ALL {
            let (stay, were) = (stay.lists[list as usize], were.lists[list as usize]);
            for bucket in number_buckets(stay + 1, were) {
                let key = (Hash(owner), list_number(list), Number(bucket), Number(stay + 1));
                writes.push(&sql.forget_items, key)?;
            }
        }
        for id in &touched.made {
            writes.push(&sql.forget_number, (Hash(*id),))?;
        }
        for (statement, numbers) in [(&sql.forget_spent, &touched.spent), (&sql.forget_lost, &touched.lost)] {
            for number in numbers.iter().filter(|number| **number <= stay.coins) {
                writes.push(statement, (Hash(owner), number_bucket(*number), Number(*number)))?;
            }
        }
        self.restore(writes, owner, base)
    }

    /// Puts back the present of an owner.
    fn restore(&self, writes: &mut Writes, owner: PuzzleHash, base: &Base) -> Result<(), StoreError> {
        let sql = &self.tables.sql;
        let Some((height, account)) = &base.head else {
            return writes.push(&sql.forget_owner, (Hash(owner),));
        };
        let head = (Number::from(*height), AccountCell::from(account));
        let buckets = self.buckets_above(*height);
        writes.push(&sql.restore_account, (head, buckets, &base.nft_buckets, Hash(owner)))?;
        for (asset, balance) in &base.balances {
            match balance {
                Some((height, balance)) => {
                    let head = (Number::from(*height), Amount(*balance));
                    let key = (head, self.buckets_above(*height), Hash(owner), Hash(*asset));
                    writes.push(&sql.restore_balance, key)?;
                }
                None => writes.push(&sql.forget_balance, (Hash(owner), Hash(*asset)))?,
            }
        }
        Ok(())
    }
}
