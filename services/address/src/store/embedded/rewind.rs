//! Takes back everything above a block, row by row, and checks that what is left has the digest it had.

use super::load;
use super::tables::{
    Journal, Tables, account_key, balance_key, coin_key, damaged, hash_at, item_key, journal_key,
    last_height, last_number, past_nft_key,
};
use crate::projection::{Account, CoinRow, Item, List, digest};
use fjall::{OwnedWriteBatch, Readable, Snapshot};
use mojoscan_domain::{Digest, Position, PuzzleHash};
use mojoscan_engines::embedded::{Key, broken, decode};
use mojoscan_pipeline::StoreError;
use std::collections::BTreeSet;

pub(super) fn rewind(tables: &Tables, at: Position, to: Position) -> Result<(), StoreError> {
    let view = tables.embedded.snapshot();
    let checkpoint = tables.meta.checkpoint(&view)?;
    if checkpoint.position() == to {
        // whoever repeats a rewind has not heard that it was done
        return Ok(());
    }
    if checkpoint.position() != at {
        let found = checkpoint.position();
        return Err(StoreError::Broken(format!("the store is at {found:?}, not at {at:?} as was expected")));
    }
    let target = to.block.map(|block| block.height);
    let first = target.map_or(0, |height| height + 1);
    if first < checkpoint.undo_floor() {
        let oldest = checkpoint.undo_floor().saturating_sub(1);
        return Err(StoreError::TooDeep { to: target.unwrap_or(0), oldest });
    }
    let mut undo =
        Undo { tables, view: &view, batch: tables.embedded.batch(), target, removed: Digest::EMPTY };
    undo.run(first)?;
    let Undo { mut batch, removed, .. } = undo;
    let left = checkpoint.digest() - removed;
    if let Some(height) = target
        && let Some(then) = tables.meta.find_at(&view, height)?
        && then.digest() != left
    {
        return Err(StoreError::Broken(format!(
            "undoing to height {height} leaves other rows than there were"
        )));
    }
    tables.meta.forget_above(&view, &mut batch, target)?;
    tables.meta.write(&mut batch, &checkpoint.at(to, left))?;
    fail::fail_point!("address-rewind-before");
    batch.commit().map_err(broken)?;
    fail::fail_point!("address-rewind-after");
    Ok(())
}

/// A rewind in the making.
struct Undo<'a> {
    tables: &'a Tables,
    view: &'a Snapshot,
    batch: OwnedWriteBatch,
    /// The height of the last block that stays; none if not even block 0 does.
    target: Option<u32>,
    removed: Digest,
}

impl Undo<'_> {
    fn run(&mut self, first: u32) -> Result<(), StoreError> {
        let mut owners = BTreeSet::new();
        let mut balances = BTreeSet::new();
        let mut spent = BTreeSet::new();
        for guard in self.view.range(&self.tables.journal, journal_key(first)..) {
            let (key, value) = guard.into_inner().map_err(broken)?;
            let journal: Journal = decode(&value)?;
            owners.extend(journal.owners);
            balances.extend(journal.balances);
            spent.extend(journal.spent);
            self.batch.remove(&self.tables.journal, key);
        }
        for (owner, number) in spent {
            self.unspend(owner, number)?;
        }
        for owner in owners {
            self.owner(owner)?;
        }
        for (owner, asset) in balances {
            let above = balance_key(owner, asset, u32::MAX)..;
            let prefix = Key::new().hash(owner).hash(asset);
            for guard in self.view.range(&self.tables.balances, above) {
                let (key, value) = guard.into_inner().map_err(broken)?;
                let height = last_height(&key)?;
                if !key.starts_with(prefix.as_ref()) || self.stays(height) {
                    break;
                }
                self.removed += digest::balance(owner, asset, height, decode(&value)?);
                self.batch.remove(&self.tables.balances, key);
            }
        }
        Ok(())
    }

    fn stays(&self, height: u32) -> bool {
        self.target.is_some_and(|target| height <= target)
    }

    /// Makes a coin unspent again; one that was created above the target goes with its owner's coins.
    fn unspend(&mut self, owner: PuzzleHash, number: u64) -> Result<(), StoreError> {
        let key = coin_key(owner, number);
        let bytes = self.view.get(&self.tables.coins, &key).map_err(broken)?.ok_or_else(damaged)?;
        let mut row: CoinRow = decode(&bytes)?;
        let Some(spend) = row.spent.filter(|spend| !self.stays(spend.at.height)) else { return Ok(()) };
        if row.is_kept_nft() {
            self.batch.remove(&self.tables.past_nfts, past_nft_key(owner, spend.at.height, number));
        }
        self.removed += digest::spent(owner, number, &row);
        row.spent = None;
        if self.stays(row.created.height) {
            self.tables.put_coin(&mut self.batch, owner, number, &row)?;
        }
        Ok(())
    }

    /// Takes away an owner's heads, coins and items above the target.
    fn owner(&mut self, owner: PuzzleHash) -> Result<(), StoreError> {
        let before = match self.target {
            Some(height) => load::account(self.tables, self.view, owner, height)?.unwrap_or_default(),
            None => Account::default(),
        };
        for guard in self.view.range(&self.tables.accounts, account_key(owner, u32::MAX)..) {
            let (key, value) = guard.into_inner().map_err(broken)?;
            let height = last_height(&key)?;
            if hash_at(&key, 0)? != owner || self.stays(height) {
                break;
            }
            self.removed += digest::account(owner, height, &decode(&value)?);
            self.batch.remove(&self.tables.accounts, key);
        }
        let newer = coin_key(owner, u64::MAX)..coin_key(owner, before.coins);
        for guard in self.view.range(&self.tables.coins, newer) {
            let (key, value) = guard.into_inner().map_err(broken)?;
            let row: CoinRow = decode(&value)?;
            self.removed += digest::created(owner, last_number(&key)?, &row);
            self.batch.remove(&self.tables.coin_numbers, row.id.as_slice());
            self.batch.remove(&self.tables.nfts, key.clone());
            self.batch.remove(&self.tables.coins, key);
        }
        for list in List::ALL {
            let newer = item_key(owner, list, u64::MAX)..item_key(owner, list, before.lists[list as usize]);
            for guard in self.view.range(&self.tables.items, newer) {
                let (key, value) = guard.into_inner().map_err(broken)?;
                let item: Item = decode(&value)?;
                self.removed += digest::item(owner, list, last_number(&key)?, &item);
                self.batch.remove(&self.tables.items, key);
            }
        }
        Ok(())
    }
}
