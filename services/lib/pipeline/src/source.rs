//! Where blocks come from.

use async_trait::async_trait;
use mojoscan_domain::{BlockId, Network};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The end of the chain, as a source sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peak {
    /// The block.
    pub block: BlockId,
    /// Nothing more will come: a recording is at its end.
    pub finished: bool,
    /// When the source was last heard from, in milliseconds since 1970.
    pub heard_at_ms: u64,
}

impl Peak {
    /// The end of a chain that goes on, heard of just now.
    pub fn now(block: BlockId) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let heard_at_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        Self { block, finished: false, heard_at_ms }
    }
}

/// Why a source gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It cannot be reached, or does not answer in time. It may later.
    #[error("{0}")]
    Unavailable(String),
    /// It does not have those blocks, or no longer: the chain has changed meanwhile. Ask for the peak again.
    #[error("the source does not have blocks {first} to {last} of one chain")]
    Missing {
        /// The first height asked for.
        first: u32,
        /// The last height asked for.
        last: u32,
    },
    /// It is damaged, or not what it was said to be. Asking again does not help.
    #[error("{0}")]
    Broken(String),
}

/// A chain of blocks that grows, and now and then replaces its end.
///
/// A source may be asked from several tasks at once. It gives blocks as the bytes of their FullBlocks and does not
/// look into them: who reads them checks that they link.
#[async_trait]
pub trait BlockSource: Send + Sync + 'static {
    /// What it is, for logs.
    fn describe(&self) -> String;

    /// The network it carries, if it knows by itself.
    fn network(&self) -> Option<Network>;

    /// Says where the reader stands, before anything else. A recording goes on from there; others need not know.
    async fn resume(&self, at: Option<BlockId>) -> Result<(), SourceError> {
        let _ = at;
        Ok(())
    }

    /// The end of the chain now.
    async fn peak(&self) -> Result<Peak, SourceError>;

    /// Waits until the end of the chain is not `known`, for at most `patience`; then gives the end as it is.
    async fn changed_peak(&self, known: BlockId, patience: Duration) -> Result<Peak, SourceError>;

    /// The blocks of these heights, both included, of the chain that ends in the present peak.
    async fn blocks(&self, first: u32, last: u32) -> Result<Vec<Vec<u8>>, SourceError>;

    /// The block of this height in the chain that ends in the present peak; none if that is lower.
    async fn find_id(&self, height: u32) -> Result<Option<BlockId>, SourceError>;
}
