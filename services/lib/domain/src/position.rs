//! How far a consumer has read one partition of a topic.

use crate::BlockId;

/// A place in one partition: everything up to and including `block` is applied, nothing after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// How many rewinds there were before.
    pub epoch: u64,
    /// The block; none while only records before the first watermark were read.
    pub block: Option<BlockId>,
    /// The sequence number of the last record applied; 0 before the first.
    pub seq: u64,
    /// The offset to read next.
    pub offset: u64,
}

impl Position {
    /// Before the first record.
    pub const START: Self = Self { epoch: 0, block: None, seq: 0, offset: 0 };
}
