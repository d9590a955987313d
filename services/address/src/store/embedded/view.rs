//! A view of the embedded store: a snapshot, at its position or masked to an older height.

use super::load;
use super::tables::{Tables, coin_key, hash_at, item_key, last_number, past_nft_key};
use crate::projection::{Account, AssetId, CoinRow, Item, List};
use crate::store::{AddressView, Heard, HeldNft, ViewError};
use fjall::{Readable, Snapshot};
use mojoscan_domain::{CoinId, Position, PuzzleHash};
use mojoscan_engines::embedded::{Checkpoint, Key, blocking, broken, decode};
use mojoscan_pipeline::StoreError;
use std::sync::Arc;

/// A view of the embedded store.
#[derive(Clone)]
pub struct EmbeddedView(Arc<Inner>);

struct Inner {
    tables: Arc<Tables>,
    snapshot: Snapshot,
    checkpoint: Checkpoint,
    position: Position,
    height: Option<u32>,
}

impl EmbeddedView {
    pub(super) fn open(tables: Arc<Tables>, asked: Option<u32>) -> Result<Self, ViewError> {
        let snapshot = tables.embedded.snapshot();
        let checkpoint = tables.meta.checkpoint(&snapshot)?;
        let mut position = checkpoint.position();
        let reached = position.block.map(|block| block.height);
        if let Some(asked) = asked.filter(|asked| Some(*asked) != reached) {
            if reached.is_none_or(|reached| asked > reached) {
                return Err(ViewError::TooHigh { asked, reached });
            }
            let then = tables.meta.find_at(&snapshot, asked)?;
            position.block = then.and_then(|then| then.position().block);
        }
        let height = asked.or(reached);
        Ok(Self(Arc::new(Inner { tables, snapshot, checkpoint, position, height })))
    }

    async fn read<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Inner, u32) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ViewError> {
        let Some(height) = self.0.height else { return Ok(T::default()) };
        let inner = Arc::clone(&self.0);
        Ok(blocking(move || work(&inner, height)).await?)
    }
}

impl AddressView for EmbeddedView {
    fn position(&self) -> Position {
        self.0.position
    }

    fn height(&self) -> Option<u32> {
        self.0.height
    }

    fn heard(&self) -> Heard {
        let checkpoint = &self.0.checkpoint;
        Heard { peak_height: checkpoint.peak_height(), at_ms: checkpoint.heard_at_ms() }
    }

    async fn account(&self, owner: PuzzleHash) -> Result<Account, ViewError> {
        self.read(move |view, height| view.account(owner, height)).await
    }

    async fn balances(&self, owner: PuzzleHash) -> Result<Vec<(AssetId, u128)>, ViewError> {
        self.read(move |view, height| view.balances(owner, height)).await
    }

    async fn nfts(&self, owner: PuzzleHash, count: usize) -> Result<Vec<HeldNft>, ViewError> {
        self.read(move |view, height| view.nfts(owner, height, count)).await
    }

    async fn items(
        &self,
        owner: PuzzleHash,
        list: List,
        before: u64,
        count: usize,
    ) -> Result<Vec<(u64, Item)>, ViewError> {
        self.read(move |view, height| view.items(owner, height, list, before, count)).await
    }

    async fn coins(
        &self,
        owner: PuzzleHash,
        before: u64,
        count: usize,
    ) -> Result<Vec<(u64, CoinRow)>, ViewError> {
        self.read(move |view, height| view.coins(owner, height, before, count)).await
    }

    async fn holds(&self, owner: PuzzleHash, coin: CoinId) -> Result<bool, ViewError> {
        let held = move |view: &Inner, _| {
            Ok(load::coin_number(&view.tables, &view.snapshot, owner, coin)?.is_some())
        };
        self.read(held).await
    }

    async fn finish(self) -> Result<(), ViewError> {
        Ok(())
    }
}

impl Inner {
    fn account(&self, owner: PuzzleHash, height: u32) -> Result<Account, StoreError> {
        Ok(load::account(&self.tables, &self.snapshot, owner, height)?.unwrap_or_default())
    }

    /// Jumps from asset to asset: to its newest balance at or below the height, then past all of its balances.
    fn balances(&self, owner: PuzzleHash, height: u32) -> Result<Vec<(AssetId, u128)>, StoreError> {
        let table = &self.tables.balances;
        let mut found = vec![];
        let mut from = Key::new().hash(owner);
        while let Some(guard) = self.snapshot.range(table, from.as_ref()..).next() {
            let key = guard.key().map_err(broken)?;
            if hash_at(&key, 0)? != owner {
                break;
            }
            let asset = hash_at(&key, 32)?;
            let balance = load::balance(&self.tables, &self.snapshot, owner, asset, height)?;
            found.extend(balance.filter(|balance| *balance > 0).map(|balance| (asset, balance)));
            from = Key::new().hash(owner).hash(asset).newest_height(0).byte(0);
        }
        Ok(found)
    }

    /// What is held now and was held then, and what was held then and lost since.
    fn nfts(&self, owner: PuzzleHash, height: u32, count: usize) -> Result<Vec<HeldNft>, StoreError> {
        let mut found: Vec<(u64, HeldNft)> = vec![];
        let reached = self.checkpoint.position().block.map_or(0, |block| block.height);
        let newest = coin_key(owner, u64::MAX)..=coin_key(owner, 0);
        for guard in self.snapshot.range(&self.tables.nfts, newest) {
            if found.len() == count {
                break;
            }
            let (key, value) = guard.into_inner().map_err(broken)?;
            found.extend(held(last_number(&key)?, &value, height)?);
        }
        if height < reached {
            let lost = past_nft_key(owner, height + 1, 0)..=past_nft_key(owner, u32::MAX, u64::MAX);
            for guard in self.snapshot.range(&self.tables.past_nfts, lost) {
                let (key, value) = guard.into_inner().map_err(broken)?;
                let number = key.last_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
                found.extend(held(number, &value, height)?);
            }
        }
        found.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
        Ok(found.into_iter().take(count).map(|(_, nft)| nft).collect())
    }

    fn items(
        &self,
        owner: PuzzleHash,
        height: u32,
        list: List,
        before: u64,
        count: usize,
    ) -> Result<Vec<(u64, Item)>, StoreError> {
        let length = self.account(owner, height)?.lists[list as usize];
        let newest = length.min(before.saturating_sub(1));
        let range = item_key(owner, list, newest)..=item_key(owner, list, 1);
        if newest == 0 {
            return Ok(vec![]);
        }
        self.snapshot
            .range(&self.tables.items, range)
            .take(count)
            .map(|guard| {
                let (key, value) = guard.into_inner().map_err(broken)?;
                Ok((last_number(&key)?, decode(&value)?))
            })
            .collect()
    }

    fn coins(
        &self,
        owner: PuzzleHash,
        height: u32,
        before: u64,
        count: usize,
    ) -> Result<Vec<(u64, CoinRow)>, StoreError> {
        let newest = self.account(owner, height)?.coins.min(before.saturating_sub(1));
        if newest == 0 {
            return Ok(vec![]);
        }
        self.snapshot
            .range(&self.tables.coins, coin_key(owner, newest)..=coin_key(owner, 1))
            .take(count)
            .map(|guard| {
                let (key, value) = guard.into_inner().map_err(broken)?;
                Ok((last_number(&key)?, decode::<CoinRow>(&value)?.at(height)))
            })
            .collect()
    }
}

/// An NFT, if it was acquired by a height.
fn held(number: u64, value: &[u8], height: u32) -> Result<Option<(u64, HeldNft)>, StoreError> {
    let row: super::tables::NftRow = decode(value)?;
    let nft = HeldNft { launcher: row.launcher, coin: row.coin, height: row.acquired };
    Ok((nft.height <= height).then_some((number, nft)))
}
