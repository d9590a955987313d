//! What every topic has in common: where an event stands, and the records about blocks.

use crate::{BlockId, Header};

/// One record of a partition, with its place in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequenced<E> {
    /// How many rewinds there were before. A rewind carries the epoch it begins.
    pub epoch: u64,
    /// Its number in the partition: consecutive for ever, from 1.
    pub seq: u64,
    /// Where the log keeps it.
    pub offset: u64,
    /// The record.
    pub record: Record<E>,
}

/// One record of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<E> {
    /// Something happened.
    Event(Place, E),
    /// A block, or a run of blocks, is complete.
    Watermark(Watermark),
    /// Blocks are void.
    Rewind(Rewind),
}

/// Where in the chain an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The block.
    pub block: BlockId,
    /// The block's time, in seconds since 1970.
    pub timestamp: u64,
    /// Which record of the block this is, over all partitions; unique within the block.
    pub index: u32,
}

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
