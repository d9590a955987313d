//! Loads the rows a batch needs to know.

use super::tables::{BalanceRow, PresentBalance, Tables, within};
use crate::projection::{AssetId, Keys, Prior};
use mojoscan_domain::{CoinId, Kind, Position, PuzzleHash};
use mojoscan_engines::scylla::Hash;
use mojoscan_pipeline::{Partition, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// Most assets that one statement asks for.
const ASSETS_MAX: usize = 50;

/// What was read is only true if no rewind has passed meanwhile; otherwise another writer has done this step and more.
pub(super) async fn load(
    tables: &Tables,
    partition: Partition,
    at: Position,
    keys: &Keys,
) -> Result<Prior, StoreError> {
    let position = tables.settled(partition).await?.position;
    if position.epoch > at.epoch {
        return Err(StoreError::Passed);
    }
    if position.epoch < at.epoch || position.seq < at.seq {
        return Err(elsewhere(position, at));
    }
    let Some(height) = at.block.map(|block| block.height) else { return Ok(Prior::default()) };
    let prior = within(tables, partition, at.epoch, prior(tables, keys, height)).await?;
    prior.ok_or(StoreError::Passed)
}

/// The store is not where its writer takes it to be.
pub(super) fn elsewhere(found: Position, expected: Position) -> StoreError {
    StoreError::Broken(format!("the store is at {found:?}, not at {expected:?} as was expected"))
}

async fn prior(tables: &Tables, keys: &Keys, height: u32) -> Result<Prior, StoreError> {
    let cql = &tables.cql;
    let accounts = cql.each(keys.owners.iter().copied(), |owner: PuzzleHash| async move {
        let present = tables.present(owner).await?;
        let head = tables.account_at(owner, &present, height).await?;
        Ok(head.map(|(_, account)| (owner, account)))
    });
    let coins = cql.each(keys.coins.iter().copied(), |(owner, id): (PuzzleHash, CoinId)| async move {
        Ok(tables.coin_at(owner, id, height).await?.map(|coin| ((owner, id), coin)))
    });
    let (accounts, coins) = futures::try_join!(accounts, coins)?;
    let mut prior = Prior {
        accounts: accounts.into_iter().flatten().collect(),
        coins: coins.into_iter().flatten().collect(),
        ..Prior::default()
    };
    let held = prior.coins.iter().filter_map(|((owner, _), (_, row))| {
        row.asset.id.filter(|_| row.asset.kind == Kind::Cat).map(|asset| (*owner, asset))
    });
    let wanted = by_owner(keys.balances.iter().copied().chain(held));
    let balances = cql.each(wanted, |(owner, assets)| balances(tables, owner, assets, height));
    prior.balances = balances.await?.into_iter().flatten().collect();
    Ok(prior)
}

/// The assets of each owner, cut into what one statement may ask for.
fn by_owner(wanted: impl Iterator<Item = (PuzzleHash, AssetId)>) -> Vec<(PuzzleHash, Vec<Hash>)> {
    let mut owners: BTreeMap<PuzzleHash, BTreeSet<Hash>> = BTreeMap::new();
    for (owner, asset) in wanted {
        owners.entry(owner).or_default().insert(Hash(asset));
    }
    let cut = |(owner, assets): (PuzzleHash, BTreeSet<Hash>)| {
        let assets: Vec<Hash> = assets.into_iter().collect();
        let chunks: Vec<_> = assets.chunks(ASSETS_MAX).map(|some| (owner, some.to_vec())).collect();
        chunks
    };
    owners.into_iter().flat_map(cut).collect()
}

async fn balances(
    tables: &Tables,
    owner: PuzzleHash,
    assets: Vec<Hash>,
    height: u32,
) -> Result<Vec<((PuzzleHash, AssetId), u128)>, StoreError> {
    let rows = tables.cql.rows::<BalanceRow>(&tables.sql.find_balances, (Hash(owner), assets)).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(present) = PresentBalance::new(row)? else { continue };
        if let Some((_, balance)) = tables.balance_at(owner, &present, height).await? {
            found.push(((owner, present.asset), balance));
        }
    }
    Ok(found)
}
