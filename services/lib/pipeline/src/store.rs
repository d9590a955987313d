//! Where a projection keeps its rows.

use crate::Partition;
use mojoscan_domain::record::{Place, Watermark};
use mojoscan_domain::{BlockId, CoinId, Position, PuzzleHash};
use std::future::Future;

/// A pure function from what was there and what happened to what is there now. No clock, no I/O, not asynchronous.
pub trait Projection: Send + Sync + 'static {
    /// What it is called in metrics.
    const NAME: &'static str;

    /// What happens.
    type Event: Send + Sync + 'static;
    /// Which of the rows a batch needs to know.
    type Keys: Send + Sync;
    /// Those rows, as they were before the batch.
    type Prior: Send;
    /// The rows that a batch makes, as absolute values: applying them twice is applying them once.
    type Changes: Send + Sync;

    /// The rows a batch needs to know.
    fn keys(&self, events: &[(Place, Self::Event)]) -> Self::Keys;

    /// What the batch changes.
    ///
    /// # Errors
    /// [`ProjectionError`] if the events cannot have happened.
    fn project(
        &self,
        prior: Self::Prior,
        events: &[(Place, Self::Event)],
    ) -> Result<Self::Changes, ProjectionError>;
}

/// Events that cannot have happened: something was lost or made up on the way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProjectionError {
    /// A coin is spent that was never created.
    #[error("block {block}: unknown coin {coin} of {owner} is spent")]
    UnknownCoin {
        /// Where.
        block: BlockId,
        /// The coin.
        coin: CoinId,
        /// Whose it should be.
        owner: PuzzleHash,
    },
    /// A coin is created or spent a second time.
    #[error("block {block}: coin {coin} is {what} a second time")]
    Repeated {
        /// Where.
        block: BlockId,
        /// The coin.
        coin: CoinId,
        /// `created` or `spent`.
        what: &'static str,
    },
    /// A sum leaves its range.
    #[error("block {block}: the {what} of {owner} would leave its range")]
    OutOfRange {
        /// Where.
        block: BlockId,
        /// Whose.
        owner: PuzzleHash,
        /// Which sum.
        what: &'static str,
    },
}

/// Why a store did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached, or does not answer in time. Whether a write took place is not known: repeat it.
    #[error("{0}")]
    Unavailable(String),
    /// A rewind goes further back than the store remembers how to undo.
    #[error("cannot rewind to height {to}: what came above height {oldest} can be undone, nothing older")]
    TooDeep {
        /// The target.
        to: u32,
        /// The lowest possible target.
        oldest: u32,
    },
    /// Another writer has carried the partition through this step and a rewind beyond it. The step is done.
    #[error("another writer has carried the partition beyond this step")]
    Passed,
    /// It is damaged, or not what it was said to be.
    #[error("{0}")]
    Broken(String),
}

/// Where a projection keeps its rows: three verbs, beside the reads each projection adds for itself.
///
/// A position says what is complete. It is moved forwards after the rows, and back before them, so that rows may be
/// ahead of it after a crash, and never behind. The prior state is therefore that *at the position*, not the newest.
/// Every verb may be repeated after a failure.
pub trait Store<P: Projection>: Clone + Send + Sync + 'static {
    /// How far the rows of a partition are complete.
    fn position(&self, partition: Partition) -> impl Future<Output = Result<Position, StoreError>> + Send;

    /// The rows, as they are at the position.
    fn load(
        &self,
        partition: Partition,
        at: Position,
        keys: P::Keys,
    ) -> impl Future<Output = Result<P::Prior, StoreError>> + Send;

    /// Writes rows, then moves the position from `at` to `to`. The watermark is the one that `to` rests on.
    fn commit(
        &self,
        partition: Partition,
        at: Position,
        changes: P::Changes,
        to: Position,
        watermark: Watermark,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Moves the position back to `to`, then takes away everything above it.
    fn rewind(
        &self,
        partition: Partition,
        at: Position,
        to: Position,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
