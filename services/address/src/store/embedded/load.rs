//! Loads the rows a batch needs to know.

use super::tables::{CoinNumber, Tables, account_key, balance_key, coin_key};
use crate::projection::{Account, AssetId, CoinRow, Keys, Prior};
use fjall::{Readable, Snapshot};
use mojoscan_domain::{CoinId, Kind, Position, PuzzleHash};
use mojoscan_engines::embedded::{broken, decode};
use mojoscan_pipeline::StoreError;

pub(super) fn load(tables: &Tables, at: Position, keys: &Keys) -> Result<Prior, StoreError> {
    let view = tables.embedded.snapshot();
    let mut prior = Prior::default();
    let Some(height) = at.block.map(|block| block.height) else { return Ok(prior) };
    for owner in &keys.owners {
        if let Some(account) = account(tables, &view, *owner, height)? {
            prior.accounts.insert(*owner, account);
        }
    }
    let mut balances = keys.balances.clone();
    for (owner, id) in &keys.coins {
        // a commit that is repeated stands above the position already
        let known = coin(tables, &view, *owner, *id)?.filter(|(_, row)| row.created.height <= height);
        if let Some((number, row)) = known {
            let row = row.at(height);
            if let (Kind::Cat, Some(asset)) = (row.asset.kind, row.asset.id) {
                balances.insert((*owner, asset));
            }
            prior.coins.insert((*owner, *id), (number, row));
        }
    }
    for (owner, asset) in balances {
        if let Some(balance) = balance(tables, &view, owner, asset, height)? {
            prior.balances.insert((owner, asset), balance);
        }
    }
    Ok(prior)
}

/// The newest head at or below a height.
pub(super) fn account(
    tables: &Tables,
    view: &Snapshot,
    owner: PuzzleHash,
    height: u32,
) -> Result<Option<Account>, StoreError> {
    let mut heads = view.range(&tables.accounts, account_key(owner, height)..=account_key(owner, 0));
    heads.next().map(|guard| decode(&guard.value().map_err(broken)?)).transpose()
}

/// The newest balance at or below a height.
pub(super) fn balance(
    tables: &Tables,
    view: &Snapshot,
    owner: PuzzleHash,
    asset: AssetId,
    height: u32,
) -> Result<Option<u128>, StoreError> {
    let range = balance_key(owner, asset, height)..=balance_key(owner, asset, 0);
    view.range(&tables.balances, range)
        .next()
        .map(|guard| decode(&guard.value().map_err(broken)?))
        .transpose()
}

/// A coin, if this owner holds or held it.
pub(super) fn coin(
    tables: &Tables,
    view: &Snapshot,
    owner: PuzzleHash,
    id: CoinId,
) -> Result<Option<(u64, CoinRow)>, StoreError> {
    let Some(number) = coin_number(tables, view, owner, id)? else { return Ok(None) };
    match view.get(&tables.coins, coin_key(owner, number)).map_err(broken)? {
        Some(bytes) => Ok(Some((number, decode(&bytes)?))),
        None => Err(StoreError::Broken(format!("coin {id} has a number but no row"))),
    }
}

/// The number of a coin, if this owner holds or held it.
pub(super) fn coin_number(
    tables: &Tables,
    view: &Snapshot,
    owner: PuzzleHash,
    id: CoinId,
) -> Result<Option<u64>, StoreError> {
    let Some(bytes) = view.get(&tables.coin_numbers, id).map_err(broken)? else { return Ok(None) };
    let place: CoinNumber = decode(&bytes)?;
    Ok((place.owner == owner).then_some(place.number))
}
