//! Blocks: which one, and what its header says.

use crate::Bytes32;
use std::fmt;

/// One block. Its identity is the header hash; the height is only an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId {
    /// The height, from 0.
    pub height: u32,
    /// The header hash.
    pub hash: Bytes32,
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.height, self.hash)
    }
}

/// What a block says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Which block.
    pub id: BlockId,
    /// The header hash of the block before; for block 0 the genesis challenge.
    pub previous_hash: Bytes32,
    /// When it was made, in seconds since 1970; none for a block without transactions.
    pub timestamp: Option<u64>,
    /// Difficulty summed from block 0.
    pub weight: u128,
    /// VDF iterations summed from block 0.
    pub total_iterations: u128,
    /// Fees its transactions pay, in mojos.
    pub fees: u64,
    /// Farming rewards it pays out, in mojos, fees of the earlier block included.
    pub rewards: u128,
    /// CLVM cost as the block states it.
    pub cost: u64,
    /// Coins created, rewards included.
    pub created: u32,
    /// Coins spent.
    pub spent: u32,
}

impl Header {
    /// The block before; none for block 0.
    pub fn previous(&self) -> Option<BlockId> {
        let height = self.id.height.checked_sub(1)?;
        Some(BlockId { height, hash: self.previous_hash })
    }
}
