//! Writes a batch: rows, journal and position at once.

use super::tables::{CoinNumber, Journal, Tables, account_key, balance_key, item_key, journal_key};
use crate::projection::Changes;
use fjall::OwnedWriteBatch;
use mojoscan_domain::Position;
use mojoscan_domain::record::Watermark;
use mojoscan_engines::embedded::{broken, encode};
use mojoscan_pipeline::StoreError;
use std::collections::BTreeMap;

pub(super) fn commit(
    tables: &Tables,
    at: Position,
    changes: &Changes,
    to: Position,
    watermark: &Watermark,
) -> Result<(), StoreError> {
    let checkpoint = tables.meta.checkpoint(&tables.embedded.snapshot())?;
    if checkpoint.position() == to {
        // whoever repeats a commit has not heard that it was done
        return Ok(());
    }
    if checkpoint.position() != at {
        let found = checkpoint.position();
        return Err(StoreError::Broken(format!("the store is at {found:?}, not at {at:?} as was expected")));
    }
    let mut batch = tables.embedded.batch();
    rows(tables, &mut batch, changes)?;
    let floor = watermark.peak_height.saturating_sub(tables.journal_depth);
    journal(tables, &mut batch, changes, checkpoint.undo_floor(), floor)?;
    let digest = checkpoint.digest() + changes.digest;
    let next = checkpoint.at(to, digest).heard(watermark).undo_floor_raised(floor);
    tables.meta.write(&mut batch, &next)?;
    fail::fail_point!("address-commit-before");
    batch.commit().map_err(broken)?;
    fail::fail_point!("address-commit-after");
    Ok(())
}

fn rows(tables: &Tables, batch: &mut OwnedWriteBatch, changes: &Changes) -> Result<(), StoreError> {
    for (owner, height, account) in &changes.accounts {
        batch.insert(&tables.accounts, account_key(*owner, *height), encode(account)?);
    }
    for (owner, asset, height, balance) in &changes.balances {
        batch.insert(&tables.balances, balance_key(*owner, *asset, *height), encode(balance)?);
    }
    for (owner, number, row) in &changes.coins {
        tables.put_coin(batch, *owner, *number, row)?;
        let place = CoinNumber { owner: *owner, number: *number };
        batch.insert(&tables.coin_numbers, row.id.as_slice(), encode(&place)?);
    }
    for (owner, list, number, item) in &changes.items {
        batch.insert(&tables.items, item_key(*owner, *list, *number), encode(item)?);
    }
    Ok(())
}

/// Notes what each block touched, from a floor on: what is deeper below the source's peak is never rewound. What was
/// noted below the new floor is forgotten.
fn journal(
    tables: &Tables,
    batch: &mut OwnedWriteBatch,
    changes: &Changes,
    old_floor: u32,
    floor: u32,
) -> Result<(), StoreError> {
    let mut blocks: BTreeMap<u32, Journal> = BTreeMap::new();
    for (owner, height, _) in &changes.accounts {
        blocks.entry(*height).or_default().owners.push(*owner);
    }
    for (owner, asset, height, _) in &changes.balances {
        blocks.entry(*height).or_default().balances.push((*owner, *asset));
    }
    for (owner, number, row) in &changes.coins {
        if let Some(spend) = row.spent {
            blocks.entry(spend.at.height).or_default().spent.push((*owner, *number));
        }
    }
    for (height, journal) in blocks.range(floor..) {
        batch.insert(&tables.journal, journal_key(*height), encode(journal)?);
    }
    if old_floor < floor {
        for guard in tables.journal.range(journal_key(old_floor)..journal_key(floor)) {
            batch.remove(&tables.journal, guard.key().map_err(broken)?);
        }
    }
    Ok(())
}
