//! The services behind the gateway, each as a client of its own.

pub mod address;

use mojoscan_domain::{BlockId, Bytes32};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longest time for a call to a service.
pub(crate) const DEADLINE: Duration = Duration::from_secs(2);

/// At which block an answer is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsOf {
    /// The shard that answered.
    pub shard: u32,
    /// How many reorgs that shard has seen.
    pub epoch: u64,
    /// The block.
    pub block: BlockId,
    /// What was last heard of the chain.
    pub heard: Heard,
}

/// What was last heard of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// The height of the node's peak.
    pub peak_height: u32,
    /// When, in milliseconds since 1970; none when nothing more can come, and 0 before anything has.
    pub at_ms: Option<u64>,
}

impl Heard {
    /// Whole seconds since then; 0 when nothing more can come, and none before anything has.
    pub fn age_seconds(&self) -> Option<u64> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        match self.at_ms {
            None => Some(0),
            Some(0) => None,
            Some(at) => Some(now.saturating_sub(at) / 1000),
        }
    }

    /// Of two, the one that was longer ago.
    pub(crate) fn earlier(self, other: Self) -> Self {
        if other.order() < self.order() { other } else { self }
    }

    /// Of two, the one that was later.
    pub(crate) fn later(self, other: Self) -> Self {
        if other.order() > self.order() { other } else { self }
    }

    fn order(self) -> (u64, u32) {
        (self.at_ms.unwrap_or(u64::MAX), self.peak_height)
    }
}

/// 32 bytes from the wire.
fn bytes32(bytes: &[u8]) -> Result<Bytes32, tonic::Status> {
    Bytes32::try_from(bytes).map_err(|error| tonic::Status::internal(error.to_string()))
}

/// A 128-bit amount from the wire.
fn amount(bytes: &[u8]) -> Result<u128, tonic::Status> {
    let bytes = bytes.try_into().map_err(|_| tonic::Status::internal("an amount is not 16 bytes"))?;
    Ok(u128::from_be_bytes(bytes))
}
