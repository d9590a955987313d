//! Where the rows of addresses are kept: the port that both adapters fill, and its answers.

pub mod embedded;
pub mod scylla;

use crate::projection::{Account, AddressProjection, AssetId, CoinRow, Item, List};
use mojoscan_domain::record::Watermark;
use mojoscan_domain::{CoinId, Digest, LauncherId, Position, PuzzleHash};
use mojoscan_pipeline::{Partition, Store, StoreError};
use std::future::Future;

/// A store of addresses: the writing verbs of [`Store`], and views to read from.
pub trait AddressStore: Store<AddressProjection> {
    /// A view of a partition.
    type View: AddressView;

    /// The partition that holds an owner's rows.
    fn partition_of(&self, owner: PuzzleHash) -> Partition;

    /// A view of a partition at its position, or at an older height.
    fn view(
        &self,
        partition: Partition,
        height: Option<u32>,
    ) -> impl Future<Output = Result<Self::View, ViewError>> + Send;

    /// The digest of a partition's rows at its position, as it is kept.
    fn digest(
        &self,
        partition: Partition,
    ) -> impl Future<Output = Result<(Position, Digest), StoreError>> + Send;

    /// The same, computed anew from every row.
    fn recomputed_digest(
        &self,
        partition: Partition,
    ) -> impl Future<Output = Result<(Position, Digest), StoreError>> + Send;
}

/// Why a partition could not be viewed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// The height asked for is above the position.
    #[error("height {asked} is not reached yet; the latest is {reached:?}")]
    TooHigh {
        /// The height asked for.
        asked: u32,
        /// The height of the position; none before the first block.
        reached: Option<u32>,
    },
    /// A reorg passed while the view was open. Open another.
    #[error("a reorg passed during the read")]
    Moved,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An NFT that an address holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldNft {
    /// The NFT.
    pub launcher: LauncherId,
    /// Its coin.
    pub coin: CoinId,
    /// The height at which the address got it.
    pub height: u32,
}

/// Rows of one partition, all as they were at one block. Every answer is complete, or an error.
pub trait AddressView: Send + Sync {
    /// The position the view was opened at. For an older height, `block` is there only if a watermark named it.
    fn position(&self) -> Position;

    /// The height everything is true at; none before the first block.
    fn height(&self) -> Option<u32>;

    /// The latest watermark's word on the source: the height of its peak, and when it was heard from.
    fn heard(&self) -> Heard;

    /// The head of an address.
    fn account(&self, owner: PuzzleHash) -> impl Future<Output = Result<Account, ViewError>> + Send;

    /// Every CAT balance that is not zero, by ascending asset id.
    fn balances(
        &self,
        owner: PuzzleHash,
    ) -> impl Future<Output = Result<Vec<(AssetId, u128)>, ViewError>> + Send;

    /// The NFTs held, latest acquired first, at most `count`.
    fn nfts(
        &self,
        owner: PuzzleHash,
        count: usize,
    ) -> impl Future<Output = Result<Vec<HeldNft>, ViewError>> + Send;

    /// The items of a list with numbers below `before`, newest first, at most `count`.
    fn items(
        &self,
        owner: PuzzleHash,
        list: List,
        before: u64,
        count: usize,
    ) -> impl Future<Output = Result<Vec<(u64, Item)>, ViewError>> + Send;

    /// The coins with numbers below `before`, newest first, at most `count`.
    fn coins(
        &self,
        owner: PuzzleHash,
        before: u64,
        count: usize,
    ) -> impl Future<Output = Result<Vec<(u64, CoinRow)>, ViewError>> + Send;

    /// Whether an owner was ever given a coin.
    fn holds(&self, owner: PuzzleHash, coin: CoinId) -> impl Future<Output = Result<bool, ViewError>> + Send;

    /// Ends the view. Only now is what was read from it known to be true.
    fn finish(self) -> impl Future<Output = Result<(), ViewError>> + Send;
}

/// What was last heard of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// The height of its peak.
    pub peak_height: u32,
    /// When it was heard from, in milliseconds since 1970; none if nothing more can come.
    pub at_ms: Option<u64>,
}

impl From<&Watermark> for Heard {
    fn from(watermark: &Watermark) -> Self {
        Self { peak_height: watermark.peak_height, at_ms: watermark.heard_at_ms }
    }
}
