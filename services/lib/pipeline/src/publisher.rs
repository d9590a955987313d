//! The writing end of the record log.

use mojoscan_domain::record::CoinEvent;
use mojoscan_domain::{BlockId, Header};
use std::future::Future;

/// A block with its events, ready to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockEvents {
    /// What the block says of itself.
    pub header: Header,
    /// What happened to coins, in order.
    pub coins: Vec<CoinEvent>,
}

/// What a rewind goes back to: the last block that stays, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RewindTo(pub Option<BlockId>);

/// What is published at once, or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishBatch {
    /// A reorg comes first: everything above this block is void.
    pub rewind: Option<RewindTo>,
    /// Blocks that follow each other. Without any, the batch says only that the chain was heard from.
    pub blocks: Vec<BlockEvents>,
    /// Height of the source's peak.
    pub peak_height: u32,
    /// When the source was last heard from, in milliseconds since 1970; none when nothing more can come.
    pub heard_at_ms: Option<u64>,
}

/// Why nothing was published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The outcome may be unknown: resume, and go on from where the log stands.
    #[error("{0}")]
    Unavailable(String),
    /// Another ingestor has taken over, or the log gave up what this one had begun and took too long to finish. The two
    /// look the same from here.
    #[error("another ingestor has taken over, or this one stood still for too long: {0}")]
    Fenced(String),
    /// Nobody reads any more, or what was read from the log makes no sense.
    #[error("{0}")]
    Broken(String),
}

/// The writing end of the record log. There is one writer.
pub trait Publisher: Send + 'static {
    /// Finds out where the log stands: the last block published, none in an empty log. Comes first, and again after
    /// every error that does not end the publisher.
    fn resume(&mut self) -> impl Future<Output = Result<Option<BlockId>, PublishError>> + Send;

    /// The block before a published one; none before block 0, or if it is further back than the log remembers.
    fn find_previous(
        &mut self,
        block: BlockId,
    ) -> impl Future<Output = Result<Option<BlockId>, PublishError>> + Send;

    /// Publishes a batch: all of it, or nothing.
    fn publish(&mut self, batch: PublishBatch) -> impl Future<Output = Result<(), PublishError>> + Send;
}
