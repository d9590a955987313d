//! Records about blocks.

use crate::{BlockId, Header};

/// Everything up to this block is in this partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermark {
    /// The block that is complete.
    pub block: BlockId,
    /// The block of the watermark before in this partition, or the target of the rewind before; none at the first.
    /// A watermark that repeats the block before says that the chain was heard from and has not grown.
    pub previous: Option<BlockId>,
    /// The height of the node's peak when this was written.
    pub peak_height: u32,
    /// When the ingestor last heard from the node, in milliseconds since 1970 by the ingestor's clock; none once a
    /// recording has been played to its end and nothing more can come.
    pub heard_at_ms: Option<u64>,
}

/// Everything above the target is void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewind {
    /// The epoch that begins here: one more than the epoch before.
    pub epoch: u64,
    /// The last block that stays; none when not even block 0 does.
    pub to: Option<BlockId>,
}

/// A block was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRecord {
    /// The epoch it was published in.
    pub epoch: u64,
    /// What the block says of itself.
    pub header: Header,
    /// For each partition of the coins topic, the sequence number of its last record once this block was published.
    pub coins_last_seq: Vec<u64>,
}
