//! Why a block, a generator or a spend could not be decoded.

use mojoscan_domain::{BlockId, Bytes32, CoinId};

/// Why a block, a generator or a spend could not be decoded. Nothing of it may be published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are not a FullBlock.
    #[error("not a FullBlock of version 0 or 1: {0}")]
    Malformed(String),
    /// A FullBlock of a version this build does not know.
    #[error("FullBlock version {0} is not known; known are 0 and 1")]
    UnknownVersion(u8),
    /// The bytes are not a spend bundle.
    #[error("not a spend bundle: {0}")]
    MalformedBundle(String),
    /// A generator that this one refers to was not given.
    #[error("the generator refers to {expected} older generators, {given} were given")]
    MissingReference {
        /// How many it names.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// The generator is not CLVM, or does not return a list of spends.
    #[error("the generator is not valid: {0}")]
    Generator(String),
    /// A spend's puzzle failed, or what it returned is not a list of conditions.
    #[error("the spend of coin {coin} failed: {reason}")]
    Spend {
        /// The coin.
        coin: CoinId,
        /// What CLVM said.
        reason: String,
    },
    /// More CLVM cost than a block may have.
    #[error("CLVM cost above the limit of {limit}")]
    Cost {
        /// The limit.
        limit: u64,
    },
    /// More time than a block is given.
    #[error("decoding took longer than the limit of {limit_ms} ms")]
    Time {
        /// The limit.
        limit_ms: u64,
    },
    /// The block spends a coin twice.
    #[error("coin {0} is spent twice")]
    DoubleSpend(CoinId),
    /// The block creates a coin twice.
    #[error("coin {0} is created twice")]
    DuplicateCoin(CoinId),
    /// A hash or a root the block states is not that of its content.
    #[error("block {block}: {what} is stated as {stated}, its content gives {computed}")]
    Mismatch {
        /// The block.
        block: BlockId,
        /// Which hash or root.
        what: &'static str,
        /// What the block states.
        stated: Bytes32,
        /// What its content gives.
        computed: Bytes32,
    },
    /// Parts of the block that belong together are not all there.
    #[error("block {block}: {reason}")]
    Incomplete {
        /// The block.
        block: BlockId,
        /// What is missing.
        reason: &'static str,
    },
}
