//! Checks of a block as a whole: that what we read from it is what its header commits to.
//!
//! This checks our decoding, not the block: proofs, signatures and the spending rules are the node's affair.

use crate::DecodeError;
use crate::events::Events;
use crate::full_block::{Block, convert};
use chia_consensus::merkle_set::compute_merkle_set_root;
use chia_protocol::{FoliageTransactionBlock, FullBlock, TransactionsInfo};
use chia_traits::Streamable;
use mojoscan_domain::{BlockId, Bytes32, CoinId, PuzzleHash};
use sha2::{Digest as _, Sha256};

/// What a block without generator states as its generator root.
const NO_GENERATOR: Bytes32 = Bytes32::ZERO;
/// What a block without references states as their root.
const NO_REFERENCES: Bytes32 = Bytes32::new([1; 32]);

/// The parts of a block that only a block with transactions has.
pub(crate) struct Body<'a> {
    pub(crate) foliage: &'a FoliageTransactionBlock,
    pub(crate) info: &'a TransactionsInfo,
}

/// Checks the hashes that hold a block together, from the header hash down to the generator.
pub(crate) fn header(block: &Block) -> Result<Option<Body<'_>>, DecodeError> {
    let (id, full) = (block.id(), block.full_block());
    let expect = |what, stated, computed| check(id, what, stated, computed);
    expect("reward_block_hash", convert(full.foliage.reward_block_hash), hash(&full.reward_chain_block))?;
    let body = body(id, full)?;
    let Some(body) = body else {
        return Ok(None);
    };
    if let Some(stated) = full.foliage.foliage_transaction_block_hash {
        expect("foliage_transaction_block_hash", convert(stated), hash(body.foliage))?;
    }
    expect("transactions_info_hash", convert(body.foliage.transactions_info_hash), hash(body.info))?;
    let generator = block.generator().map_or(NO_GENERATOR, sha256);
    expect("generator_root", convert(body.info.generator_root), generator)?;
    let heights: Vec<u8> = block.references().iter().flat_map(|height| height.to_be_bytes()).collect();
    let references = if heights.is_empty() { NO_REFERENCES } else { sha256(&heights) };
    expect("generator_refs_root", convert(body.info.generator_refs_root), references)?;
    Ok(Some(body))
}

/// A block either has all parts of a transaction block or none.
fn body(id: BlockId, block: &FullBlock) -> Result<Option<Body<'_>>, DecodeError> {
    let incomplete = |reason| Err(DecodeError::Incomplete { block: id, reason });
    let stated = block.foliage.foliage_transaction_block_hash.is_some();
    match (stated, &block.foliage_transaction_block, &block.transactions_info) {
        (true, Some(foliage), Some(info)) => Ok(Some(Body { foliage, info })),
        (false, None, None) => {
            let generator = block.transactions_generator.is_some()
                || block.transactions_generator_buffer.is_some()
                || !block.transactions_generator_ref_list.is_empty();
            if generator { incomplete("a generator in a block without transactions") } else { Ok(None) }
        }
        (true, ..) => incomplete("a transaction block without its foliage or its transactions info"),
        (false, ..) => incomplete("foliage or transactions info in a block without transactions"),
    }
}

/// Checks the coins created and spent against the roots in the block's foliage.
pub(crate) fn coins(id: BlockId, body: &Body<'_>, events: &Events) -> Result<(), DecodeError> {
    distinct(events)?;
    let (additions, removals) = roots(events);
    check(id, "additions_root", convert(body.foliage.additions_root), additions)?;
    check(id, "removals_root", convert(body.foliage.removals_root), removals)
}

/// No coin may be created or spent twice.
pub(crate) fn distinct(events: &Events) -> Result<(), DecodeError> {
    if let Some(twice) = twice(events.created.iter().map(|created| created.id)) {
        return Err(DecodeError::DuplicateCoin(twice));
    }
    match twice(events.spent.iter().map(|spent| spent.first.id)) {
        Some(twice) => Err(DecodeError::DoubleSpend(twice)),
        None => Ok(()),
    }
}

/// A coin that stands in a list more than once.
fn twice(ids: impl Iterator<Item = CoinId>) -> Option<CoinId> {
    let mut ids: Vec<CoinId> = ids.collect();
    ids.sort_unstable();
    ids.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// The roots of additions and removals: Merkle sets of, for additions, each puzzle hash and the hash of its coins'
/// ids (in descending order), and for removals the coin ids.
pub(crate) fn roots(events: &Events) -> (Bytes32, Bytes32) {
    let mut coins: Vec<(PuzzleHash, CoinId)> =
        events.created.iter().map(|created| (created.coin.puzzle_hash, created.id)).collect();
    coins.sort_unstable_by(|left, right| right.cmp(left));
    let mut additions = Vec::with_capacity(coins.len() * 2);
    for of_puzzle in coins.chunk_by(|left, right| left.0 == right.0) {
        let mut hasher = Sha256::new();
        for (_, coin) in of_puzzle {
            hasher.update(coin);
        }
        additions.push(of_puzzle[0].0.to_bytes());
        additions.push(hasher.finalize().into());
    }
    let mut removals: Vec<[u8; 32]> = events.spent.iter().map(|spent| spent.first.id.to_bytes()).collect();
    (
        Bytes32::new(compute_merkle_set_root(&mut additions)),
        Bytes32::new(compute_merkle_set_root(&mut removals)),
    )
}

fn check(block: BlockId, what: &'static str, stated: Bytes32, computed: Bytes32) -> Result<(), DecodeError> {
    if stated == computed { Ok(()) } else { Err(DecodeError::Mismatch { block, what, stated, computed }) }
}

fn hash(value: &impl Streamable) -> Bytes32 {
    Bytes32::new(value.hash())
}

fn sha256(bytes: &[u8]) -> Bytes32 {
    Bytes32::new(Sha256::digest(bytes).into())
}
