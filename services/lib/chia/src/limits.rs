//! What one block may cost.

use std::time::Duration;

/// Most memos kept of a coin.
pub const MAX_MEMOS: usize = 64;
/// Most bytes of memos kept of a coin.
pub const MAX_MEMO_BYTES: usize = 16 * 1024;
/// Most nodes of a memo list walked.
pub const MAX_MEMO_NODES: usize = 1024;

/// Limits on the CLVM of one block.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most CLVM cost; consensus allows a block 11,000,000,000.
    pub max_cost: u64,
    /// Most time, looked at before each spend. A block that consensus accepts takes at most seconds, and a single
    /// spend is bounded by its cost.
    pub max_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_cost: 11_000_000_000, max_time: Duration::from_secs(60) }
    }
}
