//! The journal: what each block touched, so that a rewind knows where to look.

use super::rows::AccountCell;
use super::tables::Tables;
use crate::projection::{Account, AssetId, Changes};
use mojoscan_domain::{CoinId, PuzzleHash};
use mojoscan_engines::scylla::{Amount, Hash, Number, Writes};
use mojoscan_pipeline::{Partition, StoreError};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// What a block touched of one owner.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// The head it left.
    pub(super) account: Account,
    /// The balances it left.
    pub(super) balances: BTreeMap<AssetId, u128>,
    /// The coins it made.
    pub(super) made: Vec<CoinId>,
    /// The numbers of the coins it spent.
    pub(super) spent: Vec<u64>,
    /// Those of them that were NFTs.
    pub(super) lost: Vec<u64>,
}

type Row = (
    Hash,
    AccountCell,
    Option<BTreeMap<Hash, Amount>>,
    Option<Vec<Hash>>,
    Option<Vec<Number>>,
    Option<Vec<Number>>,
);

/// What the blocks of a batch touched: those above the position it stands on, and not below a floor.
pub(super) fn entries(
    changes: &Changes,
    above: Option<u32>,
    floor: u32,
) -> BTreeMap<(u32, PuzzleHash), Entry> {
    let mut entries: BTreeMap<(u32, PuzzleHash), Entry> = BTreeMap::new();
    for (owner, height, account) in &changes.accounts {
        entries.entry((*height, *owner)).or_default().account = *account;
    }
    for (owner, asset, height, balance) in &changes.balances {
        entries.entry((*height, *owner)).or_default().balances.insert(*asset, *balance);
    }
    for (owner, number, row) in &changes.coins {
        if above.is_none_or(|above| row.created.height > above) {
            entries.entry((row.created.height, *owner)).or_default().made.push(row.id);
        }
        if let Some(spend) = row.spent {
            let entry = entries.entry((spend.at.height, *owner)).or_default();
            entry.spent.push(*number);
            if row.is_kept_nft() {
                entry.lost.push(*number);
            }
        }
    }
    entries.retain(|(height, _), _| *height >= floor);
    // one order whoever writes it, and in whatever batches
    for entry in entries.values_mut() {
        entry.made.sort_unstable();
        entry.spent.sort_unstable();
        entry.lost.sort_unstable();
    }
    entries
}

/// Notes what was touched.
pub(super) fn note(
    tables: &Tables,
    writes: &mut Writes,
    partition: Partition,
    entries: &BTreeMap<(u32, PuzzleHash), Entry>,
) -> Result<(), StoreError> {
    for ((height, owner), entry) in entries {
        let balances: BTreeMap<Hash, Amount> =
            entry.balances.iter().map(|(asset, balance)| (Hash(*asset), Amount(*balance))).collect();
        let made: Vec<Hash> = entry.made.iter().copied().map(Hash).collect();
        let numbers = |numbers: &[u64]| -> Vec<Number> { numbers.iter().copied().map(Number).collect() };
        let (spent, lost) = (numbers(&entry.spent), numbers(&entry.lost));
        let account = AccountCell::from(&entry.account);
        let key = (Number::from(partition), Number::from(*height), Hash(*owner));
        let row = (key.0, key.1, key.2, account, balances, made, spent, lost);
        writes.push(&tables.sql.put_journal, row)?;
    }
    Ok(())
}

/// What the blocks at these heights touched.
pub(super) async fn read(
    tables: &Tables,
    partition: Partition,
    heights: RangeInclusive<u32>,
) -> Result<Vec<(u32, PuzzleHash, Entry)>, StoreError> {
    let blocks = tables.cql.each(heights, |height: u32| async move {
        let key = (Number::from(partition), Number::from(height));
        let rows = tables.cql.rows::<Row>(&tables.sql.list_journal, key).await?;
        rows.into_iter().map(|row| entry(height, row)).collect::<Result<Vec<_>, StoreError>>()
    });
    Ok(blocks.await?.into_iter().flatten().collect())
}

fn entry(height: u32, row: Row) -> Result<(u32, PuzzleHash, Entry), StoreError> {
    let (owner, account, balances, made, spent, lost) = row;
    let numbers =
        |numbers: Option<Vec<Number>>| numbers.unwrap_or_default().into_iter().map(|n| n.0).collect();
    let entry = Entry {
        account: account.try_into()?,
        balances: balances.unwrap_or_default().into_iter().map(|(asset, n)| (asset.0, n.0)).collect(),
        made: made.unwrap_or_default().into_iter().map(|id| id.0).collect(),
        spent: numbers(spent),
        lost: numbers(lost),
    };
    Ok((height, owner.0, entry))
}

/// Forgets what the blocks at these heights touched.
pub(super) fn forget(
    tables: &Tables,
    writes: &mut Writes,
    partition: Partition,
    heights: impl Iterator<Item = u32>,
) -> Result<(), StoreError> {
    for height in heights {
        writes.push(&tables.sql.forget_journal, (Number::from(partition), Number::from(height)))?;
    }
    Ok(())
}
