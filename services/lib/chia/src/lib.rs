//! From a Chia block to events about coins.
//!
//! What flows in: FullBlock bytes ([`Block`]) and the older generators a block refers to. What flows out:
//! [`Decoded`], the block's [`Header`] and its [`Events`], checked against the roots in the block's foliage.
//!
//! One CLVM pass a block. Each puzzle is recognised once, by the hash of its module; what a spend creates is
//! classified from what that spend proves, and the creation is authoritative for the coin's whole life.
//!
//! Invariant: pure and synchronous. The clock is read only to keep the time limit.

pub mod builder;
mod clvm;
mod conditions;
mod curry;
mod error;
mod events;
mod full_block;
mod generator;
mod layer;
pub mod limits;
mod machine;
mod memos;
mod modules;
mod puzzle;
mod records;
mod spend;
mod transactions;
mod verify;

pub use error::DecodeError;
pub use events::{Events, SpentEvent};
pub use full_block::Block;
pub use limits::Limits;

use chia_protocol::SpendBundle;
use chia_traits::Streamable;
use machine::Machine;
use mojoscan_domain::{Coin, Header};
use puzzle::Recognizer;
use std::time::Duration;

/// A decoded block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// What the block says of itself.
    pub header: Header,
    /// What happened to coins.
    pub events: Events,
    /// What it took.
    pub effort: Effort,
}

/// What decoding took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// CLVM cost of what was run: the generator and the spends' puzzles, less what the standard puzzle adds to a
    /// delegated one.
    pub clvm_cost: u64,
    /// Time.
    pub elapsed: Duration,
}

/// Decodes a block and checks it as a whole. `references` are the generators of the blocks that
/// [`Block::references`] names, in that order.
///
/// # Errors
/// [`DecodeError`] says what is wrong with the block; nothing of it may be published then.
pub fn decode(block: &Block, references: &[Vec<u8>], limits: Limits) -> Result<Decoded, DecodeError> {
    let expected = block.references().len();
    if references.len() != expected {
        return Err(DecodeError::MissingReference { expected, given: references.len() });
    }
    let body = verify::header(block)?;
    let full = block.full_block();
    let (events, effort) = match block.generator() {
        Some(generator) => {
            let mut machine = Machine::new(generator::flags_of_version(full.version), limits);
            let spends = generator::spends(&mut machine, generator, references)?;
            run(machine, &spends, &block.rewards())?
        }
        None => {
            (events::assemble(&block.rewards(), vec![]), Effort { clvm_cost: 0, elapsed: Duration::ZERO })
        }
    };
    if let Some(body) = &body {
        verify::coins(block.id(), body, &events)?;
    }
    let header = Header {
        id: block.id(),
        previous_hash: block.previous_hash(),
        timestamp: body.as_ref().map(|body| body.foliage.timestamp),
        weight: full.weight(),
        total_iterations: full.total_iters(),
        fees: body.as_ref().map_or(0, |body| body.info.fees),
        rewards: block.rewards().iter().map(|coin| u128::from(coin.amount)).sum(),
        cost: body.as_ref().map_or(0, |body| body.info.cost),
        created: u32::try_from(events.created.len()).unwrap_or(u32::MAX),
        spent: u32::try_from(events.spent.len()).unwrap_or(u32::MAX),
    };
    Ok(Decoded { header, events, effort })
}

/// Decodes a bare generator: the events of its spends, without rewards. A generator that is spelled as since hard
/// fork 2 is recognised by its prefix.
///
/// # Errors
/// As [`decode`].
pub fn decode_generator(
    generator: &[u8],
    references: &[Vec<u8>],
    limits: Limits,
) -> Result<(Events, Effort), DecodeError> {
    let version = u8::from(generator.starts_with(&clvmr::serde::SERDE_2026_MAGIC_PREFIX));
    let mut machine = Machine::new(generator::flags_of_version(version), limits);
    let spends = generator::spends(&mut machine, generator, references)?;
    let (events, effort) = run(machine, &spends, &[])?;
    verify::distinct(&events)?;
    Ok((events, effort))
}

/// Decodes a spend bundle, as wallets send it, as if a block held just it.
///
/// # Errors
/// As [`decode`]; [`DecodeError::MalformedBundle`] if the bytes are not a spend bundle.
pub fn decode_bundle(bytes: &[u8], limits: Limits) -> Result<(Events, Effort), DecodeError> {
    let bundle =
        SpendBundle::from_bytes(bytes).map_err(|error| DecodeError::MalformedBundle(error.to_string()))?;
    let mut machine = Machine::new(generator::flags_of_version(0), limits);
    let spends = generator::spell(&mut machine, &bundle.coin_spends)?;
    let (events, effort) = run(machine, &spends, &[])?;
    verify::distinct(&events)?;
    Ok((events, effort))
}

fn run(
    mut machine: Machine,
    spends: &[generator::Spelled],
    rewards: &[Coin],
) -> Result<(Events, Effort), DecodeError> {
    let mut recognizer = Recognizer::default();
    let spends = spends
        .iter()
        .map(|spelled| spend::run(&mut machine, &mut recognizer, spelled))
        .collect::<Result<Vec<_>, _>>()?;
    let effort = Effort { clvm_cost: machine.cost(), elapsed: machine.elapsed() };
    Ok((events::assemble(rewards, spends), effort))
}
