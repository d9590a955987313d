//! From a block's generator to its list of spends.

use crate::DecodeError;
use crate::clvm;
use crate::machine::{Machine, RunError};
use chia_consensus::flags::ConsensusFlags;
use chia_consensus::run_block_generator::setup_generator_args;
use chia_consensus::serde_2026::node_from_bytes_2026_trusted;
use chia_protocol::CoinSpend;
use clvmr::allocator::NodePtr;
use clvmr::serde::{SERDE_2026_MAGIC_PREFIX, node_from_bytes_backrefs};
use mojoscan_domain::{Bytes32, Coin};

/// One spend, as the generator spells it.
pub(crate) struct Spelled {
    pub(crate) parent: Bytes32,
    pub(crate) puzzle: NodePtr,
    pub(crate) amount: u64,
    pub(crate) solution: NodePtr,
    /// The coin, where it is known beforehand: its puzzle hash must be the puzzle's.
    pub(crate) expected: Option<Coin>,
}

/// The consensus flags under which a generator of this FullBlock version runs. The flags of soft forks only forbid,
/// and a block on the chain has passed them; those of hard fork 2 (version 1) change what programs mean.
pub(crate) fn flags_of_version(version: u8) -> ConsensusFlags {
    if version == 0 {
        return ConsensusFlags::DONT_VALIDATE_SIGNATURE;
    }
    ConsensusFlags::DONT_VALIDATE_SIGNATURE
        | ConsensusFlags::ENABLE_KECCAK_OPS_OUTSIDE_GUARD
        | ConsensusFlags::ENABLE_SECP_OPS
        | ConsensusFlags::NEW_COST_MODEL
        | ConsensusFlags::RELAXED_BLS
}

/// Runs a generator and lists the spends it returns, in its order.
pub(crate) fn spends(
    machine: &mut Machine,
    generator: &[u8],
    references: &[Vec<u8>],
) -> Result<Vec<Spelled>, DecodeError> {
    let wrapper = if generator.starts_with(&SERDE_2026_MAGIC_PREFIX) {
        // after hard fork 2 the spends are not computed but spelled out
        node_from_bytes_2026_trusted(&mut machine.allocator, generator).map_err(|error| invalid(&error))?
    } else {
        let program =
            node_from_bytes_backrefs(&mut machine.allocator, generator).map_err(|error| invalid(&error))?;
        let arguments = setup_generator_args(&mut machine.allocator, references, machine.flags)
            .map_err(|error| invalid(&format!("{error:?}")))?;
        machine.run(program, arguments).map_err(|error| match error {
            RunError::Failed(reason) => invalid(&reason),
            RunError::Limit(limit) => limit,
        })?
    };
    let a = &machine.allocator;
    let list = clvm::first(a, wrapper).ok_or_else(|| invalid(&"it does not return a list of spends"))?;
    clvm::items(a, list)
        .map(|item| {
            let [parent, puzzle, amount, solution] =
                clvm::take(a, item).ok_or_else(|| invalid(&"a spend has fewer than four parts"))?;
            Ok(Spelled {
                parent: clvm::bytes32(a, parent)
                    .ok_or_else(|| invalid(&"a spend's parent coin id is not 32 bytes"))?,
                puzzle,
                amount: clvm::amount(a, amount).ok_or_else(|| invalid(&"a spend's amount is not valid"))?,
                solution,
                expected: None,
            })
        })
        .collect()
}

/// Lists given coin spends, in their order.
pub(crate) fn spell(machine: &mut Machine, spends: &[CoinSpend]) -> Result<Vec<Spelled>, DecodeError> {
    let a = &mut machine.allocator;
    spends
        .iter()
        .map(|spend| {
            let coin = Coin {
                parent: Bytes32::new(spend.coin.parent_coin_info.to_bytes()),
                puzzle_hash: Bytes32::new(spend.coin.puzzle_hash.to_bytes()),
                amount: spend.coin.amount,
            };
            Ok(Spelled {
                parent: coin.parent,
                puzzle: node_from_bytes_backrefs(a, spend.puzzle_reveal.as_ref())
                    .map_err(|error| invalid(&error))?,
                amount: coin.amount,
                solution: node_from_bytes_backrefs(a, spend.solution.as_ref())
                    .map_err(|error| invalid(&error))?,
                expected: Some(coin),
            })
        })
        .collect()
}

fn invalid(reason: &impl ToString) -> DecodeError {
    DecodeError::Generator(reason.to_string())
}
