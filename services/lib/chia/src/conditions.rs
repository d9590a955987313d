//! What a spend's conditions say: the coins it creates, and what ties it to other spends of the block.

use crate::{clvm, memos};
use chia_consensus::opcodes;
use clvmr::allocator::{Allocator, NodePtr, SExp};
use mojoscan_domain::record::Memos;
use mojoscan_domain::{Bytes32, Coin, CoinId, PuzzleHash};
use sha2::{Digest as _, Sha256};

/// `CREATE_COIN`, as a puzzle returns it.
#[derive(Debug, Clone)]
pub(crate) struct Create {
    pub(crate) puzzle_hash: PuzzleHash,
    pub(crate) amount: u64,
    pub(crate) hint: Option<Bytes32>,
    pub(crate) memos: Memos,
}

/// What ties a spend to others of its block. A link is tied to every link with the same key on the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// Makes an announcement, or sends a message.
    Give(Bytes32),
    /// Asserts an announcement, or receives a message.
    Take(Bytes32),
    /// Must be spent together with this coin.
    WithCoin(CoinId),
    /// Must be spent together with a coin of this puzzle.
    WithPuzzle(PuzzleHash),
}

/// The conditions of a spend that this crate reads.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) creates: Vec<Create>,
    pub(crate) links: Vec<Link>,
}

/// Reads the output of a coin's puzzle. What is read stands for itself: the output may be forgotten.
///
/// Returns `None` where consensus would refuse the output: a list that holds an atom, or a malformed `CREATE_COIN`.
pub(crate) fn read(a: &Allocator, output: NodePtr, id: CoinId, coin: &Coin) -> Option<Conditions> {
    let mut conditions = Conditions::default();
    for condition in clvm::items(a, output) {
        let (opcode, arguments) = a.next(condition)?;
        let Some(opcode) = clvm::small(a, opcode).and_then(|opcode| u16::try_from(opcode).ok()) else {
            continue;
        };
        if opcode == opcodes::CREATE_COIN {
            conditions.creates.push(create(a, arguments)?);
        } else if let Some(link) = link(a, opcode, arguments, id, coin) {
            conditions.links.push(link);
        }
    }
    Some(conditions)
}

/// Reads only the coins a (possibly inner) puzzle creates; what is malformed is left out.
pub(crate) fn creates(a: &Allocator, output: NodePtr) -> Vec<Create> {
    clvm::items(a, output)
        .filter_map(|condition| {
            let (opcode, arguments) = a.next(condition)?;
            (clvm::small(a, opcode)? == u32::from(opcodes::CREATE_COIN))
                .then(|| create(a, arguments))
                .flatten()
        })
        .collect()
}

fn create(a: &Allocator, arguments: NodePtr) -> Option<Create> {
    let (puzzle_hash, rest) = a.next(arguments)?;
    let (amount, rest) = a.next(rest)?;
    let puzzle_hash = clvm::bytes32(a, puzzle_hash)?;
    let amount = clvm::amount(a, amount)?;
    let list = clvm::first(a, rest).unwrap_or(NodePtr::NIL);
    Some(Create { puzzle_hash, amount, hint: memos::hint(a, list), memos: memos::read(a, list) })
}

fn link(a: &Allocator, opcode: u16, arguments: NodePtr, id: CoinId, coin: &Coin) -> Option<Link> {
    let argument = || clvm::first(a, arguments);
    match opcode {
        opcodes::CREATE_COIN_ANNOUNCEMENT => announcement(a, id, argument()?),
        opcodes::CREATE_PUZZLE_ANNOUNCEMENT => announcement(a, coin.puzzle_hash, argument()?),
        opcodes::ASSERT_COIN_ANNOUNCEMENT | opcodes::ASSERT_PUZZLE_ANNOUNCEMENT => {
            clvm::bytes32(a, argument()?).map(Link::Take)
        }
        opcodes::ASSERT_CONCURRENT_SPEND => clvm::bytes32(a, argument()?).map(Link::WithCoin),
        opcodes::ASSERT_CONCURRENT_PUZZLE => clvm::bytes32(a, argument()?).map(Link::WithPuzzle),
        opcodes::SEND_MESSAGE => message(a, arguments, true, id, coin).map(Link::Give),
        opcodes::RECEIVE_MESSAGE => message(a, arguments, false, id, coin).map(Link::Take),
        _ => None,
    }
}

/// The id of an announcement: sha256(coin id or puzzle hash ‖ message).
fn announcement(a: &Allocator, announcer: Bytes32, message: NodePtr) -> Option<Link> {
    let SExp::Atom = a.sexp(message) else { return None };
    let mut hasher = Sha256::new();
    hasher.update(announcer);
    hasher.update(a.atom(message));
    Some(Link::Give(Bytes32::new(hasher.finalize().into())))
}

/// The key on which a sent and a received message meet (CHIP-0025): the mode, the message, and what the mode commits
/// to of sender and receiver. Three bits a side: parent, puzzle, amount; all three mean the coin id.
fn message(a: &Allocator, arguments: NodePtr, sends: bool, id: CoinId, coin: &Coin) -> Option<Bytes32> {
    let (mode, rest) = a.next(arguments)?;
    let mode = clvm::small(a, mode).filter(|mode| *mode < 64)?;
    let (text, mut rest) = a.next(rest)?;
    let SExp::Atom = a.sexp(text) else { return None };
    let own = own_commitment(if sends { mode >> 3 } else { mode & 7 }, id, coin);
    let other = given_commitment(a, if sends { mode & 7 } else { mode >> 3 }, &mut rest)?;
    let (sender, receiver) = if sends { (own, other) } else { (other, own) };
    let mut hasher = Sha256::new();
    hasher.update([mode as u8]);
    hasher.update((a.atom_len(text) as u64).to_be_bytes());
    hasher.update(a.atom(text));
    hasher.update(sender);
    hasher.update(receiver);
    Some(Bytes32::new(hasher.finalize().into()))
}

const PARENT: u32 = 0b100;
const PUZZLE: u32 = 0b010;
const AMOUNT: u32 = 0b001;
const COIN_ID: u32 = 0b111;

fn own_commitment(mode: u32, id: CoinId, coin: &Coin) -> Vec<u8> {
    let mut bytes = vec![];
    if mode == COIN_ID {
        bytes.extend_from_slice(id.as_slice());
        return bytes;
    }
    if mode & PARENT != 0 {
        bytes.extend_from_slice(coin.parent.as_slice());
    }
    if mode & PUZZLE != 0 {
        bytes.extend_from_slice(coin.puzzle_hash.as_slice());
    }
    if mode & AMOUNT != 0 {
        bytes.extend_from_slice(&coin.amount.to_be_bytes());
    }
    bytes
}

fn given_commitment(a: &Allocator, mode: u32, arguments: &mut NodePtr) -> Option<Vec<u8>> {
    let mut next = || {
        let (argument, rest) = a.next(*arguments)?;
        *arguments = rest;
        Some(argument)
    };
    let mut bytes = vec![];
    if mode == COIN_ID {
        bytes.extend_from_slice(clvm::bytes32(a, next()?)?.as_slice());
        return Some(bytes);
    }
    for _ in 0..(mode & (PARENT | PUZZLE)).count_ones() {
        bytes.extend_from_slice(clvm::bytes32(a, next()?)?.as_slice());
    }
    if mode & AMOUNT != 0 {
        bytes.extend_from_slice(&clvm::amount(a, next()?)?.to_be_bytes());
    }
    Some(bytes)
}
