//! One spend: run, read, classified.

use crate::DecodeError;
use crate::clvm;
use crate::conditions::{self, Link};
use crate::generator::Spelled;
use crate::layer::{Holding, NftChange, Reveal};
use crate::machine::{Machine, RunError};
use crate::modules::Module;
use crate::puzzle::{Puzzle, Recognizer};
use clvmr::allocator::{Allocator, NodePtr};
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
    let (program, environment) = delegated(&machine.allocator, &puzzle, spelled.solution)
        .unwrap_or((spelled.puzzle, spelled.solution));
    let output = machine.run(program, environment).map_err(explain)?;
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

/// What the standard puzzle runs when it is not asked for its hidden puzzle: a delegated one. All it does beside that is
/// to hash it, which is most of the work of a payment, for a demand for a signature that nobody reads here.
fn delegated(a: &Allocator, puzzle: &Puzzle, solution: NodePtr) -> Option<(NodePtr, NodePtr)> {
    if puzzle.module != Some(Module::Standard) || puzzle.arguments.len() != 1 {
        return None;
    }
    let [hidden_key, delegated, solution] = clvm::take(a, solution)?;
    clvm::is_nil(a, hidden_key).then_some((delegated, solution))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use chia_consensus::opcodes::AGG_SIG_ME;
    use clvmr::serde::{node_from_bytes, node_to_bytes};

    fn list(a: &mut Allocator, items: &[NodePtr]) -> NodePtr {
        items.iter().rev().fold(NodePtr::NIL, |rest, item| a.new_pair(*item, rest).unwrap())
    }

    fn number(a: &mut Allocator, number: u32) -> NodePtr {
        a.new_small_number(number).unwrap()
    }

    /// The standard puzzle with these arguments.
    fn standard(a: &mut Allocator, arguments: &[NodePtr]) -> NodePtr {
        let module = node_from_bytes(a, &chia_puzzles::P2_DELEGATED_PUZZLE_OR_HIDDEN_PUZZLE).unwrap();
        let (q, apply, cons) = (number(a, 1), number(a, 2), number(a, 4));
        let environment = arguments.iter().rev().fold(q, |rest, argument| {
            let quoted = a.new_pair(q, *argument).unwrap();
            list(a, &[cons, quoted, rest])
        });
        let quoted = a.new_pair(q, module).unwrap();
        list(a, &[apply, quoted, environment])
    }

    #[test]
    fn a_delegated_puzzle_returns_what_the_standard_puzzle_returns_after_the_demand_for_a_signature() {
        let mut machine = Machine::new(crate::generator::flags_of_version(0), Limits::default());
        let a = &mut machine.allocator;
        let key = a.new_atom(&[7; 48]).unwrap();
        let puzzle = standard(a, &[key]);
        let (q, path, remark) = (number(a, 1), number(a, 2), number(a, 1));
        let conditions = [vec![remark], vec![remark, key]].map(|condition| list(a, &condition));
        let conditions = list(a, &conditions);
        let quoted = a.new_pair(q, conditions).unwrap();
        let given = list(a, &[conditions]);
        // a program of its own, and an atom, which is a path into its solution
        for (program, environment) in [(quoted, NodePtr::NIL), (path, given), (q, conditions)] {
            let solution = list(&mut machine.allocator, &[NodePtr::NIL, program, environment]);
            let taken = Recognizer::default().puzzle(&machine.allocator, puzzle);
            let (program, environment) = delegated(&machine.allocator, &taken, solution).unwrap();
            let short = machine.run(program, environment).ok().unwrap();
            let whole = machine.run(puzzle, solution).ok().unwrap();
            let a = &machine.allocator;
            let (signature, rest) = a.next(whole).unwrap();
            assert_eq!(clvm::small(a, clvm::first(a, signature).unwrap()), Some(u32::from(AGG_SIG_ME)));
            assert_eq!(node_to_bytes(a, rest).unwrap(), node_to_bytes(a, short).unwrap());
        }
    }

    #[test]
    fn anything_else_is_run_as_it_is() {
        let a = &mut Allocator::new();
        let key = a.new_atom(&[7; 48]).unwrap();
        let (one, other) = (standard(a, &[key]), standard(a, &[key, NodePtr::NIL]));
        let zero = a.new_atom(&[0]).unwrap();
        let nil = NodePtr::NIL;
        let [by_key, by_zero, short, full] =
            [vec![key, nil, nil], vec![zero, nil, nil], vec![nil, nil], vec![nil; 3]]
                .map(|items| list(a, &items));
        let mut recognizer = Recognizer::default();
        let [one, other, bare] = [one, other, nil].map(|puzzle| recognizer.puzzle(a, puzzle));
        for (puzzle, solution) in
            [(&one, by_key), (&one, by_zero), (&one, short), (&one, nil), (&other, full), (&bare, full)]
        {
            assert_eq!(delegated(a, puzzle, solution), None);
        }
        assert_eq!(delegated(a, &one, full), Some((nil, nil)));
    }
}
