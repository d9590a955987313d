//! One spend: run, read, classified.

use crate::DecodeError;
use crate::conditions::{self, Link};
use crate::generator::Spelled;
use crate::layer::{Holding, NftChange, Reveal};
use crate::machine::{Machine, RunError};
use crate::puzzle::Recognizer;
use mojoscan_domain::record::{Memos, PuzzleName};
use mojoscan_domain::{Bytes32, Coin, CoinId};

/// One spend, with everything the block needs to know of it.
pub(crate) struct Spend {
    pub(crate) id: CoinId,
    pub(crate) coin: Coin,
    pub(crate) name: PuzzleName,
    /// How the coin may have been created, by what this spend shows; likeliest first.
    pub(crate) holdings: Vec<Holding>,
    /// Even the likeliest is only a guess.
    pub(crate) doubtful: bool,
    /// The spend of an eve coin.
    pub(crate) eve: bool,
    pub(crate) nft: Option<NftChange>,
    pub(crate) children: Vec<Child>,
    pub(crate) links: Vec<Link>,
}

/// A coin that a spend creates.
pub(crate) struct Child {
    pub(crate) id: CoinId,
    pub(crate) coin: Coin,
    pub(crate) holding: Holding,
    pub(crate) memos: Memos,
}

/// Runs one spend and reads all of it.
pub(crate) fn run(
    machine: &mut Machine,
    recognizer: &mut Recognizer,
    spelled: &Spelled,
) -> Result<Spend, DecodeError> {
    let puzzle = recognizer.puzzle(&machine.allocator, spelled.puzzle);
    let coin = Coin {
        parent: spelled.parent,
        puzzle_hash: Bytes32::new(puzzle.hash.to_bytes()),
        amount: spelled.amount,
    };
    let id = coin.id();
    let failed = |reason: &str| DecodeError::Spend { coin: id, reason: reason.to_owned() };
    if spelled.expected.is_some_and(|expected| expected != coin) {
        return Err(failed("the puzzle is not that of the coin"));
    }
    let explain = |error| match error {
        RunError::Failed(reason) => failed(&reason),
        RunError::Limit(limit) => limit,
    };
    let before = machine.allocator.checkpoint();
    let output = machine.run(spelled.puzzle, spelled.solution).map_err(explain)?;
    let read = conditions::read(&machine.allocator, output, id, &coin)
        .ok_or_else(|| failed("the puzzle does not return valid conditions"))?;
    // nothing points to what the run has made any more
    machine.allocator.restore_checkpoint(&before);
    let reveal = Reveal::read(machine, recognizer, &puzzle, spelled.solution, &coin);
    let classified = reveal.children(machine, &read.creates).map_err(explain)?;
    machine.allocator.restore_checkpoint(&before);
    let children = read.creates.into_iter().zip(classified.holdings).map(|(create, holding)| {
        let coin = Coin { parent: id, puzzle_hash: create.puzzle_hash, amount: create.amount };
        Child { id: coin.id(), coin, holding, memos: create.memos }
    });
    Ok(Spend {
        id,
        coin,
        name: reveal.name,
        children: children.collect(),
        holdings: reveal.holdings,
        doubtful: reveal.doubtful,
        eve: reveal.eve,
        nft: classified.nft,
        links: read.links,
    })
}
