//! Writes a batch: journal, rows, heads, position.

use super::journal;
use super::load::elsewhere;
use super::rows::{AccountCell, EventCell, NewCoin, NewItem};
use super::tables::{Tables, height_bucket, number_bucket};
use crate::projection::{Account, AssetId, Changes, CoinRow};
use mojoscan_domain::record::Watermark;
use mojoscan_domain::{Digest, Position, PuzzleHash};
use mojoscan_engines::scylla::{Amount, Checkpoint, Hash, Number, Writes, damaged};
use mojoscan_pipeline::{Partition, StoreError};
use scylla::value::MaybeUnset;
use std::collections::{BTreeMap, BTreeSet};

pub(super) async fn commit(
    tables: &Tables,
    partition: Partition,
    at: Position,
    changes: &Changes,
    to: Position,
    watermark: &Watermark,
) -> Result<(), StoreError> {
    let now = tables.settled(partition).await?;
    if now.position.seq >= to.seq {
        // this writer, or another, has been here before
        return Ok(());
    }
    let digest = digest_at(tables, partition, &now, at).await?;
    let next = now.heard(watermark, tables.undo_depth()).at(to, digest + changes.digest);
    let above = at.block.map(|block| block.height);
    let write = async |writes: Writes| tables.cql.write(to.seq, writes).await;

    let mut writes = Writes::default();
    journal::note(tables, &mut writes, partition, &journal::entries(changes, above, next.undo_floor))?;
    write(writes).await?;
    stop_here!("address-cql-commit-journal");

    let mut writes = Writes::default();
    coins(tables, &mut writes, changes, above)?;
    items(tables, &mut writes, changes)?;
    older_heads(tables, &mut writes, changes)?;
    write(writes).await?;
    stop_here!("address-cql-commit-rows");

    let mut writes = Writes::default();
    heads(tables, &mut writes, changes, above)?;
    tables.meta.remember(&mut writes, partition, &next)?;
    write(writes).await?;
    stop_here!("address-cql-commit-heads");

    let mut writes = Writes::default();
    tables.meta.advance(&mut writes, partition, &next)?;
    write(writes).await?;
    stop_here!("address-cql-commit-position");

    // nothing was noted above the old position
    let noted = now.undo_floor..next.undo_floor.min(now.height().map_or(0, |height| height + 1));
    let mut writes = Writes::default();
    journal::forget(tables, &mut writes, partition, noted)?;
    write(writes).await
}

/// The digest that the rows had at the position a batch stands on: the store's position, unless another writer has
/// moved it on since.
async fn digest_at(
    tables: &Tables,
    partition: Partition,
    now: &Checkpoint,
    at: Position,
) -> Result<Digest, StoreError> {
    if now.position == at {
        return Ok(now.digest);
    }
    if now.position.epoch != at.epoch || now.position.seq <= at.seq {
        return Err(elsewhere(now.position, at));
    }
    let Some(block) = at.block else { return Ok(Digest::EMPTY) };
    let then = tables.meta.find_at(&tables.cql, partition, block.height).await?;
    let then = then.filter(|then| then.position.block == Some(block));
    Ok(then.ok_or_else(|| damaged(format!("the checkpoint at {block} is gone")))?.digest)
}

fn coins(
    tables: &Tables,
    writes: &mut Writes,
    changes: &Changes,
    above: Option<u32>,
) -> Result<(), StoreError> {
    let sql = &tables.sql;
    for (owner, number, row) in &changes.coins {
        let (owner, bucket) = (Hash(*owner), number_bucket(*number));
        if is_new(row, above) {
            writes.push(&sql.put_coin, NewCoin::new(owner, bucket, *number, row))?;
            let place = (Hash(row.id), owner, Number(*number), Number::from(row.created.height));
            writes.push(&sql.put_number, place)?;
            if let Some(launcher) = row.asset.id.filter(|_| row.is_kept_nft()) {
                let lost = MaybeUnset::from_option(row.spent.map(|spend| Number::from(spend.at.height)));
                let acquired = Number::from(row.created.height);
                let nft = (owner, bucket, Number(*number), Hash(launcher), Hash(row.id), acquired, lost);
                writes.push(&sql.put_nft, nft)?;
            }
        } else if let Some(spend) = row.spent {
            writes.push(&sql.put_spent, (EventCell::from(spend), owner, bucket, Number(*number)))?;
            if row.is_kept_nft() {
                let lost = Number::from(spend.at.height);
                writes.push(&sql.put_lost, (lost, owner, bucket, Number(*number)))?;
            }
        }
    }
    Ok(())
}

fn is_new(row: &CoinRow, above: Option<u32>) -> bool {
    above.is_none_or(|above| row.created.height > above)
}

fn items(tables: &Tables, writes: &mut Writes, changes: &Changes) -> Result<(), StoreError> {
    for (owner, list, number, item) in &changes.items {
        let row = NewItem::new(Hash(*owner), *list, number_bucket(*number), *number, item);
        writes.push(&tables.sql.put_item, row)?;
    }
    Ok(())
}

/// Every head, for those who ask what was there at its height.
fn older_heads(tables: &Tables, writes: &mut Writes, changes: &Changes) -> Result<(), StoreError> {
    for (owner, height, account) in &changes.accounts {
        let key = (Hash(*owner), height_bucket(*height), Number::from(*height));
        writes.push(&tables.sql.put_account_at, (key.0, key.1, key.2, AccountCell::from(account)))?;
    }
    for (owner, asset, height, balance) in &changes.balances {
        let key = (Hash(*owner), Hash(*asset), height_bucket(*height), Number::from(*height));
        writes.push(&tables.sql.put_balance_at, (key.0, key.1, key.2, key.3, Amount(*balance)))?;
    }
    Ok(())
}

/// The newest head of each owner and balance, and where the older ones are.
fn heads(
    tables: &Tables,
    writes: &mut Writes,
    changes: &Changes,
    above: Option<u32>,
) -> Result<(), StoreError> {
    let sql = &tables.sql;
    let mut accounts: BTreeMap<PuzzleHash, Newest<&Account>> = BTreeMap::new();
    for (owner, height, account) in &changes.accounts {
        Newest::note(accounts.entry(*owner), *height, account);
    }
    for (owner, newest) in accounts {
        let head = (Number::from(newest.height), AccountCell::from(newest.value));
        writes.push(&sql.put_account, (head, newest.buckets(), Hash(owner)))?;
    }
    let mut balances: BTreeMap<(PuzzleHash, AssetId), Newest<u128>> = BTreeMap::new();
    for (owner, asset, height, balance) in &changes.balances {
        Newest::note(balances.entry((*owner, *asset)), *height, *balance);
    }
    for ((owner, asset), newest) in balances {
        let head = (Number::from(newest.height), Amount(newest.value));
        writes.push(&sql.put_balance, (head, newest.buckets(), Hash(owner), Hash(asset)))?;
    }
    let mut nfts: BTreeMap<PuzzleHash, BTreeSet<Number>> = BTreeMap::new();
    for (owner, number, row) in &changes.coins {
        if is_new(row, above) && row.is_kept_nft() {
            nfts.entry(*owner).or_default().insert(number_bucket(*number));
        }
    }
    for (owner, buckets) in nfts {
        writes.push(&sql.put_nft_buckets, (buckets, Hash(owner)))?;
    }
    Ok(())
}

/// The newest of several heads, and the buckets of all of them.
struct Newest<T> {
    height: u32,
    value: T,
    buckets: BTreeSet<Number>,
}

impl<T> Newest<T> {
    fn note<K: Ord>(entry: std::collections::btree_map::Entry<'_, K, Self>, height: u32, value: T) {
        use std::collections::btree_map::Entry;
        let bucket = height_bucket(height);
        match entry {
            Entry::Vacant(vacant) => {
                vacant.insert(Self { height, value, buckets: BTreeSet::from([bucket]) });
            }
            Entry::Occupied(occupied) => {
                let newest = occupied.into_mut();
                newest.buckets.insert(bucket);
                if height >= newest.height {
                    (newest.height, newest.value) = (height, value);
                }
            }
        }
    }

    fn buckets(&self) -> &BTreeSet<Number> {
        &self.buckets
    }
}
