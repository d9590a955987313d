//! The digest of every row, computed anew.

use super::tables::{Tables, hash_at, last_height, last_number};
use crate::projection::{CoinRow, List, digest};
use fjall::{Keyspace, Readable, Snapshot};
use mojoscan_domain::{Digest, Position};
use mojoscan_engines::embedded::{broken, decode};
use mojoscan_pipeline::StoreError;

pub(super) fn recompute(tables: &Tables) -> Result<(Position, Digest), StoreError> {
    let view = tables.embedded.snapshot();
    let mut sum = Digest::EMPTY;
    each(&view, &tables.accounts, |key, value| {
        sum += digest::account(hash_at(key, 0)?, last_height(key)?, &decode(value)?);
        Ok(())
    })?;
    each(&view, &tables.balances, |key, value| {
        sum += digest::balance(hash_at(key, 0)?, hash_at(key, 32)?, last_height(key)?, decode(value)?);
        Ok(())
    })?;
    each(&view, &tables.coins, |key, value| {
        let (owner, number): (_, u64) = (hash_at(key, 0)?, last_number(key)?);
        let row: CoinRow = decode(value)?;
        sum += digest::created(owner, number, &row) + digest::spent(owner, number, &row);
        Ok(())
    })?;
    each(&view, &tables.items, |key, value| {
        let list = key.get(32).and_then(|list| List::ALL.get(usize::from(*list)).copied());
        let list = list.ok_or_else(super::tables::damaged)?;
        sum += digest::item(hash_at(key, 0)?, list, last_number(key)?, &decode(value)?);
        Ok(())
    })?;
    Ok((tables.meta.checkpoint(&view)?.position(), sum))
}

fn each(
    view: &Snapshot,
    table: &Keyspace,
    mut row: impl FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for guard in view.iter(table) {
        let (key, value) = guard.into_inner().map_err(broken)?;
        row(&key, &value)?;
    }
    Ok(())
}
