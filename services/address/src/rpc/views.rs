//! Views of every shard that an answer needs, all at one block.

use super::convert;
use crate::store::{AddressStore, AddressView, Heard, ViewError};
use mojoscan_domain::{BlockId, PuzzleHash};
use mojoscan_pipeline::{Partition, StoreError};
use mojoscan_proto::address::v1 as proto;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Views of every shard that an answer needs, all at one block.
pub(super) struct Views<S: AddressStore> {
    store: S,
    height: Option<u32>,
    /// The block at that height, if a watermark named it.
    block: Option<BlockId>,
    open: BTreeMap<Partition, S::View>,
}

impl<S: AddressStore> Views<S> {
    /// Opens the shards of these owners at a height; without one, at the position of the shard that is furthest behind.
    pub(super) async fn open(
        store: S,
        owners: &[PuzzleHash],
        height: Option<u32>,
    ) -> Result<Self, ViewError> {
        let mut open = BTreeMap::new();
        for owner in owners {
            let shard = store.partition_of(*owner);
            if let Entry::Vacant(vacant) = open.entry(shard) {
                vacant.insert(store.view(shard, height).await?);
            }
        }
        let lowest = open.values().min_by_key(|view| view.height());
        let (height, block) = lowest.map_or((None, None), |view| (view.height(), named(view)));
        let mut views = Self { store, height, block, open };
        views.align().await?;
        Ok(views)
    }

    /// Opens shards that are further ahead anew, where the others are.
    async fn align(&mut self) -> Result<(), ViewError> {
        // before the first block there is nothing to agree on
        let Some(height) = self.height else { return Ok(()) };
        for (shard, view) in &mut self.open {
            if view.height() != Some(height) {
                let lower = self.store.view(*shard, Some(height)).await;
                *view = lower.map_err(|error| match error {
                    // it was there a moment ago
                    ViewError::TooHigh { .. } => ViewError::Moved,
                    other => other,
                })?;
            }
        }
        agree(self.open.values())
    }

    /// The view that holds an owner's rows.
    pub(super) async fn of(&mut self, owner: PuzzleHash) -> Result<&S::View, ViewError> {
        let shard = self.store.partition_of(owner);
        if !self.open.contains_key(&shard) {
            let view = self.store.view(shard, self.height).await.map_err(|error| match error {
                ViewError::TooHigh { .. } => behind(shard),
                other => other,
            })?;
            self.open.insert(shard, view);
            agree(self.open.values())?;
        }
        self.open.get(&shard).ok_or_else(|| behind(shard))
    }

    /// At which block the answer is true.
    pub(super) fn as_of(&self) -> proto::AsOf {
        let (shard, epoch) =
            self.open.first_key_value().map_or((0, 0), |(shard, view)| (*shard, view.position().epoch));
        let block = self.height.map(|height| convert::block(height, self.block));
        // the shard that has not heard from the chain for longest speaks for all
        let heard =
            self.open.values().map(AddressView::heard).min_by_key(|heard| heard.at_ms.unwrap_or(u64::MAX));
        let heard = heard.unwrap_or(Heard { peak_height: 0, at_ms: Some(0) });
        proto::AsOf { shard, epoch, block, peak_height: heard.peak_height, heard_at_ms: heard.at_ms }
    }

    /// Ends the views. Only now is what was read from them known to be true.
    pub(super) async fn finish(self) -> Result<(), ViewError> {
        for view in self.open.into_values() {
            view.finish().await?;
        }
        Ok(())
    }
}

/// The block that a view stands at, if a watermark named it.
fn named(view: &impl AddressView) -> Option<BlockId> {
    view.position().block.filter(|block| Some(block.height) == view.height())
}

/// Shards of different chains do not make one answer. That they are of the same is known where all name the same block,
/// or all have seen the same reorgs.
fn agree<'a, V: AddressView + 'a>(mut views: impl Iterator<Item = &'a V>) -> Result<(), ViewError> {
    let Some(first) = views.next() else { return Ok(()) };
    let (block, epoch) = (named(first), first.position().epoch);
    let same = |view: &V| match (block, named(view)) {
        (Some(one), Some(other)) => one == other,
        _ => view.position().epoch == epoch,
    };
    if views.all(same) { Ok(()) } else { Err(ViewError::Moved) }
}

fn behind(shard: Partition) -> ViewError {
    ViewError::Store(StoreError::Unavailable(format!("shard {shard} is behind the others")))
}
