//! Small generators that spell very much: what is kept of them is cut, and the work is bounded.

use chia_puzzles::{AUGMENTED_CONDITION, CAT_PUZZLE};
use clvmr::allocator::NodePtr;
use clvmr::serde::node_to_bytes_backrefs;
use mojoscan_chia::builder::{Draft, Generator, Tip};
use mojoscan_chia::limits::{MAX_MEMO_BYTES, MAX_MEMOS};
use mojoscan_chia::{Events, Limits, decode, decode_generator};
use mojoscan_domain::record::Memos;
use mojoscan_domain::{Bytes32, Network};
use mojoscan_tests::clvm::Clvm;
use std::time::{Duration, Instant};

/// Doublings: a tree of 2^60 nodes.
const DOUBLINGS: usize = 60;
/// Far more time than decoding a small block takes, and far less than walking a bomb would.
const SOON: Duration = Duration::from_secs(1);
/// The puzzle hash that is paid to.
const TO: Bytes32 = Bytes32::new([0x77; 32]);

/// A pair of a value with itself, again and again.
fn doubled(c: &mut Clvm, value: NodePtr) -> NodePtr {
    (0..DOUBLINGS).fold(value, |value, _| c.pair(value, value))
}

/// A list, each item of which is twice the list before.
fn nested(c: &mut Clvm, value: NodePtr) -> NodePtr {
    (0..DOUBLINGS).fold(value, |value, _| c.list(&[value, value]))
}

/// A program that computes a value, doubled by an operator with itself, again and again.
fn computed(c: &mut Clvm, operator: i128, value: &[u8], times: usize) -> NodePtr {
    let (a, operator, one) = (c.int(2), c.int(operator), c.int(1));
    let double = c.list(&[operator, one, one]);
    let double = c.quote(double);
    let value = c.atom(value);
    let value = c.quote(value);
    (0..times).fold(value, |value, _| c.list(&[a, double, value]))
}

/// `(51 TO 0 memos)`.
fn create(c: &mut Clvm, memos: NodePtr) -> NodePtr {
    let items = [c.int(51), c.atom(TO), NodePtr::NIL, memos];
    c.list(&items)
}

/// A program that returns `((51 TO 0 memos))`, where the memos are computed too.
fn creates_computed(c: &mut Clvm, memos: NodePtr) -> NodePtr {
    let cons = c.int(4);
    let mut rest = c.list(&[cons, memos, NodePtr::NIL]);
    for part in [NodePtr::NIL, c.atom(TO), c.int(51)] {
        let part = c.quote(part);
        rest = c.list(&[cons, part, rest]);
    }
    c.list(&[cons, rest, NodePtr::NIL])
}

/// A generator of one spend, with back-references to whatever occurs twice.
fn generator(c: &mut Clvm, puzzle: NodePtr, solution: NodePtr) -> Vec<u8> {
    let (parent, amount) = (c.atom([0x11; 32]), c.int(1));
    let spend = c.list(&[parent, puzzle, amount, solution]);
    let spends = c.list(&[spend]);
    let wrapper = c.list(&[spends]);
    let program = c.quote(wrapper);
    node_to_bytes_backrefs(&c.0, program).unwrap()
}

/// Decodes a generator by itself and in a block, each in time.
fn decoded(what: &str, generator: &[u8]) -> Events {
    let started = Instant::now();
    let (events, effort) = decode_generator(generator, &[], Limits::default()).unwrap();
    let elapsed = started.elapsed();
    eprintln!("{what}: {} bytes, cost {}, {elapsed:?}", generator.len(), effort.clvm_cost);
    assert!(elapsed < SOON, "{what} took {elapsed:?}");
    assert!(effort.clvm_cost < Limits::default().max_cost / 10, "{what} cost {}", effort.clvm_cost);
    let (_, tip) = Tip::genesis(Network::Simulator0).extend(&Draft::default()).unwrap();
    let program = Generator::Program { program: generator.to_vec(), references: vec![] };
    let (block, _) = tip.extend(&Draft { generator: program, ..Draft::default() }).unwrap();
    let started = Instant::now();
    let in_a_block = decode(&block, &[], Limits::default()).unwrap();
    assert!(started.elapsed() < SOON, "{what} took {:?} in a block", started.elapsed());
    assert_eq!(in_a_block.events.spent, events.spent);
    events
}

/// The memos of the one coin that is created, within their bounds.
fn memos(what: &str, generator: &[u8]) -> Memos {
    let events = decoded(what, generator);
    let [created] = &events.created[..] else { panic!("{what}: {:?}", events.created) };
    assert_eq!(created.owner, TO);
    let memos = &created.memos;
    assert!(memos.items.len() <= MAX_MEMOS, "{what}: {} memos", memos.items.len());
    let bytes: usize = memos.items.iter().map(Vec::len).sum();
    assert!(bytes <= MAX_MEMO_BYTES, "{what}: {bytes} bytes");
    assert_eq!(events.spent[0].first.outputs[0].memos, *memos);
    memos.clone()
}

#[test]
fn memos_of_two_to_the_sixtieth_nodes_are_cut() {
    let c = &mut Clvm::default();
    let boom = c.atom(b"boom");
    let short = c.list(&[boom]);
    let returns = c.int(1);
    for (what, bomb) in [
        ("pairs of pairs", doubled(c, boom)),
        ("lists of lists", nested(c, short)),
        ("lists of empty lists", nested(c, NodePtr::NIL)),
        ("pairs of empty lists", doubled(c, NodePtr::NIL)),
    ] {
        let first = c.atom(b"first");
        let list = c.pair(first, bomb);
        let conditions = create(c, list);
        let solution = c.list(&[conditions]);
        let generator = generator(c, returns, solution);
        assert!(generator.len() < 1024, "{what}: {} bytes", generator.len());
        let memos = memos(what, &generator);
        assert!(memos.truncated, "{what}");
        assert_eq!(memos.items[0], b"first", "{what}: cut from the end");
    }
}

#[test]
fn computed_memos_are_cut() {
    let c = &mut Clvm::default();
    let bomb = computed(c, 4, b"boom", DOUBLINGS);
    let puzzle = creates_computed(c, bomb);
    let pairs = generator(c, puzzle, NodePtr::NIL);
    assert!(memos("computed pairs", &pairs).truncated);
    // one memo of a mebibyte, behind a small one
    let (cons, large) = (c.int(4), computed(c, 14, &[7; 16], 16));
    let small = c.atom(b"small");
    let small = c.quote(small);
    let tail = c.list(&[cons, large, NodePtr::NIL]);
    let both = c.list(&[cons, small, tail]);
    let puzzle = creates_computed(c, both);
    let large = generator(c, puzzle, NodePtr::NIL);
    let memos = memos("a mebibyte", &large);
    assert_eq!((memos.items, memos.truncated), (vec![b"small".to_vec()], true));
}

#[test]
fn memos_are_cut_where_their_number_or_size_ends() {
    let c = &mut Clvm::default();
    let returns = c.int(1);
    let mut of = |count: usize, size: usize| {
        let items: Vec<NodePtr> = (0..count).map(|_| c.atom(vec![b'x'; size])).collect();
        let list = c.list(&items);
        let conditions = create(c, list);
        let solution = c.list(&[conditions]);
        let generator = generator(c, returns, solution);
        let memos = memos(&format!("{count} memos of {size} bytes"), &generator);
        (memos.items.len(), memos.truncated)
    };
    assert_eq!(of(MAX_MEMOS, 256), (MAX_MEMOS, false));
    assert_eq!(of(MAX_MEMOS + 1, 1), (MAX_MEMOS, true));
    assert_eq!(of(5_000, 8), (MAX_MEMOS, true));
    assert_eq!(of(17, 1024), (16, true));
    assert_eq!(of(1, MAX_MEMO_BYTES), (1, false));
    assert_eq!(of(1, MAX_MEMO_BYTES + 1), (0, true));
}

#[test]
fn shared_and_deep_puzzles_and_solutions_are_no_more_work_than_their_bytes() {
    let c = &mut Clvm::default();
    let paid = create(c, NodePtr::NIL);
    let (returns, conditions) = (c.int(1), c.list(&[paid]));
    let quoted = c.quote(conditions);
    let boom = c.atom(b"boom");
    let shared = doubled(c, boom);
    let deep = (0..200_000).fold(boom, |deep, _| c.pair(deep, NodePtr::NIL));
    let long = c.list(&vec![boom; 5_000]);
    for (what, bomb) in [("shared", shared), ("deep", deep), ("long", long)] {
        // a solution that nobody looks at
        let unread = generator(c, quoted, bomb);
        assert_eq!(decoded(&format!("a {what} solution"), &unread).created.len(), 1);
        // a puzzle with something behind its conditions
        let tail = c.pair(bomb, NodePtr::NIL);
        let list = c.pair(paid, tail);
        let puzzle = c.quote(list);
        let within = generator(c, puzzle, NodePtr::NIL);
        assert_eq!(decoded(&format!("a {what} puzzle"), &within).created.len(), 1);
        // and one that is given it as an argument it does not use
        let condition = c.list(&[returns, bomb]);
        let puzzle = c.curry(&AUGMENTED_CONDITION, &[condition, quoted, bomb, bomb, bomb]);
        let curried = generator(c, puzzle, NodePtr::NIL);
        assert_eq!(decoded(&format!("a {what} argument"), &curried).created.len(), 1);
    }
}

/// Known puzzles, each curried with eight copies of the one before: 8^8 of them, in a few kilobytes.
#[test]
fn puzzles_within_puzzles_are_looked_at_once() {
    let c = &mut Clvm::default();
    let paid = create(c, NodePtr::NIL);
    let conditions = c.list(&[paid]);
    let (inner, remark) = (c.quote(conditions), c.int(1));
    let condition = c.list(&[remark]);
    for module in [&CAT_PUZZLE[..], &AUGMENTED_CONDITION[..]] {
        let within = (0..8).fold(NodePtr::NIL, |within, _| c.curry(module, &[within; 8]));
        let [unused @ .., _, _] = [within; 8];
        let arguments = [&[condition, inner][..], &unused].concat();
        let puzzle = c.curry(&AUGMENTED_CONDITION, &arguments);
        let generator = generator(c, puzzle, NodePtr::NIL);
        assert!(generator.len() < 16 * 1024, "{} bytes", generator.len());
        let events = decoded("puzzles within puzzles", &generator);
        assert_eq!(events.created.len(), 1);
        assert_eq!(events.spent[0].first.puzzle.name(), "augmented_condition");
    }
}
