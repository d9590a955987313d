//! A store under test: it is fed a chain, and what it says is compared with a [`Model`] of the same chain.

use super::chain::{Block, Chain, owners};
use super::model::{Model, PROJECTION, Seen};
use fastrand::Rng;
use mojoscan_address::projection::{Keys, List, Prior};
use mojoscan_address::store::{AddressStore, AddressView, Heard, ViewError};
use mojoscan_domain::record::{CoinEvent, Place, Watermark};
use mojoscan_domain::{Position, PuzzleHash};
use mojoscan_pipeline::{Partition, Projection, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// A store, and what was put into it.
pub(crate) struct Subject<S> {
    pub(crate) store: S,
    pub(crate) chain: Chain,
    /// Where each partition must be.
    pub(crate) positions: BTreeMap<Partition, Position>,
    /// Heights that watermarks have named.
    pub(crate) marks: BTreeSet<u32>,
    /// What the latest watermark of each partition said of the source.
    heard: BTreeMap<Partition, Heard>,
}

/// How a verb is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    Once,
    /// As a caller does who has not heard how the first call ended.
    Twice,
}

/// Everything that views of all partitions say.
pub(crate) type Dump = BTreeMap<PuzzleHash, Seen>;

impl<S: AddressStore> Subject<S> {
    /// An empty store.
    pub(crate) fn new(store: S) -> Self {
        let partitions = owners().map(|owner| store.partition_of(owner));
        let positions = partitions.map(|partition| (partition, Position::START)).collect();
        Self { store, chain: Chain::default(), positions, marks: BTreeSet::new(), heard: BTreeMap::new() }
    }

    /// Adds blocks to the chain, and commits them as one batch.
    pub(crate) async fn grow(&mut self, blocks: usize, rng: &mut Rng) {
        self.grow_calling(Calls::Once, blocks, rng).await;
    }

    /// As [`Subject::grow`].
    pub(crate) async fn grow_calling(&mut self, calls: Calls, blocks: usize, rng: &mut Rng) {
        let first = self.chain.blocks.len();
        for _ in 0..blocks {
            self.chain.grow(rng);
        }
        let blocks = self.chain.blocks[first..].to_vec();
        self.commit(calls, &blocks).await;
    }

    /// Commits blocks that stand on the position; without any, says that the source was heard from.
    pub(crate) async fn commit(&mut self, calls: Calls, blocks: &[Block]) {
        for (partition, at) in self.positions.clone() {
            let events = self.events(partition, blocks);
            let watermark = self.watermark(at, blocks);
            let to = Position { block: Some(watermark.block), ..after(at, events.len() as u64 + 1) };
            for _ in 0..=calls as u8 {
                let prior = self.store.load(partition, at, PROJECTION.keys(&events)).await.unwrap();
                let changes = PROJECTION.project(prior, &events).unwrap();
                self.store.commit(partition, at, changes, to, watermark).await.unwrap();
                assert_eq!(self.store.position(partition).await.unwrap(), to);
            }
            self.positions.insert(partition, to);
            self.heard.insert(partition, Heard::from(&watermark));
            self.marks.insert(watermark.block.height);
        }
    }

    /// The events of a partition.
    pub(crate) fn events(&self, partition: Partition, blocks: &[Block]) -> Vec<(Place, CoinEvent)> {
        let all = blocks.iter().flat_map(|block| &block.events);
        all.filter(|(_, event)| self.store.partition_of(event.owner()) == partition).cloned().collect()
    }

    /// The watermark behind blocks.
    pub(crate) fn watermark(&self, at: Position, blocks: &[Block]) -> Watermark {
        let block = blocks.last().map(|block| block.id).or(at.block).unwrap();
        let (previous, peak_height) = (at.block, block.height);
        Watermark { block, previous, peak_height, heard_at_ms: Some(1_700_000_000_000 + at.seq) }
    }

    /// Goes back to a block of the chain; to before block 0 without a height.
    pub(crate) async fn rewind(&mut self, calls: Calls, height: Option<u32>) {
        for (partition, at) in self.positions.clone() {
            let to = self.rewound(at, height);
            for _ in 0..=calls as u8 {
                self.store.rewind(partition, at, to).await.unwrap();
                assert_eq!(self.store.position(partition).await.unwrap(), to);
            }
            self.positions.insert(partition, to);
        }
        self.marks.retain(|mark| Some(*mark) <= height);
        self.chain.cut(height);
    }

    /// The position behind a rewind.
    pub(crate) fn rewound(&self, at: Position, height: Option<u32>) -> Position {
        let block = self.chain.up_to(height).last().map(|block| block.id);
        Position { epoch: at.epoch + 1, block, ..after(at, 1) }
    }

    /// Tries to go back further than the store can, and gives the lowest height that it says it can go back to.
    pub(crate) async fn refused_rewind(&self, height: u32) -> u32 {
        let mut lowest = BTreeSet::new();
        for (partition, at) in &self.positions {
            let to = self.rewound(*at, Some(height));
            match self.store.rewind(*partition, *at, to).await {
                Err(StoreError::TooDeep { to, oldest }) => {
                    assert_eq!(to, height);
                    lowest.insert(oldest);
                }
                other => panic!("a rewind to height {height} ended in {other:?}"),
            }
        }
        assert_eq!(lowest.len(), 1, "{lowest:?}");
        lowest.pop_first().unwrap()
    }

    /// What the model has at a height.
    pub(crate) fn expected(&self, height: Option<u32>) -> Dump {
        let blocks = self.chain.up_to(height);
        let model = Model::of(blocks, |_| true);
        owners().map(|owner| (owner, model.seen(owner))).collect()
    }

    /// What the store says, of the position or of an older height.
    pub(crate) async fn dump(&self, height: Option<u32>) -> Dump {
        let mut dump = Dump::new();
        for owner in owners() {
            let view = self.store.view(self.store.partition_of(owner), height).await.unwrap();
            dump.insert(owner, read(&view, owner).await.unwrap());
            view.finish().await.unwrap();
        }
        dump
    }

    /// Compares everything with the model: rows and digest at the position, and where it stands.
    pub(crate) async fn check(&self) {
        let tip = self.chain.tip();
        assert_eq!(self.dump(None).await, self.expected(tip.map(|block| block.height)), "at the tip {tip:?}");
        for (partition, position) in &self.positions {
            assert_eq!(self.store.position(*partition).await.unwrap(), *position);
            let view = self.store.view(*partition, None).await.unwrap();
            assert_eq!((view.position(), view.height()), (*position, tip.map(|block| block.height)));
            if let Some(heard) = self.heard.get(partition) {
                assert_eq!(view.heard(), *heard);
            }
            view.finish().await.unwrap();
            let model = Model::of(&self.chain.blocks, |owner| self.store.partition_of(owner) == *partition);
            let expected = (*position, model.digest);
            assert_eq!(self.store.digest(*partition).await.unwrap(), expected, "the digest that is kept");
            let recomputed = self.store.recomputed_digest(*partition).await.unwrap();
            assert_eq!(recomputed, expected, "the digest of the rows");
        }
    }

    /// Compares the rows at a height with the model, and what the view says of the height.
    pub(crate) async fn check_at(&self, height: u32) {
        assert_eq!(self.dump(Some(height)).await, self.expected(Some(height)), "at height {height}");
        for (partition, position) in &self.positions {
            let view = self.store.view(*partition, Some(height)).await.unwrap();
            assert_eq!(view.height(), Some(height));
            let block = self.chain.blocks[height as usize].id;
            // where no watermark stands, the block may have been named by a rewind
            let named = view.position().block;
            assert!(named == Some(block) || (named.is_none() && !self.marks.contains(&height)), "{named:?}");
            assert_eq!(view.position().epoch, position.epoch);
            view.finish().await.unwrap();
        }
    }

    /// What the store loads at a position.
    pub(crate) async fn load(&self, partition: Partition, at: Position, keys: &Keys) -> Prior {
        normal(self.store.load(partition, at, keys.clone()).await.unwrap())
    }
}

/// A position some records further on.
fn after(at: Position, records: u64) -> Position {
    Position { seq: at.seq + records, offset: at.offset + records + 3, ..at }
}

/// A balance of nothing may have a row or none.
pub(crate) fn normal(mut prior: Prior) -> Prior {
    prior.balances.retain(|_, balance| *balance > 0);
    prior
}

/// Everything that a view says of an owner.
pub(crate) async fn read(view: &impl AddressView, owner: PuzzleHash) -> Result<Seen, ViewError> {
    let mut seen = Seen {
        account: view.account(owner).await?,
        balances: view.balances(owner).await?,
        nfts: view.nfts(owner, usize::MAX).await?,
        coins: view.coins(owner, u64::MAX, usize::MAX).await?,
        ..Seen::default()
    };
    for list in List::ALL {
        seen.lists[list as usize] = view.items(owner, list, u64::MAX, usize::MAX).await?;
    }
    Ok(seen)
}
