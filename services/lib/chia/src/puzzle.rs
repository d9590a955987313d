//! Recognising puzzles: their hash, the module they are curried from and its arguments, in one go.
//!
//! A block reveals the same few modules thousands of times. Hashing each copy would cost more than running it, so the
//! first copy of a module is hashed and the later ones are compared with it, node by node; the hash of the whole
//! puzzle then follows from the module's hash and those of the arguments.

use crate::clvm;
use crate::curry::curried;
use crate::modules::Module;
use clvm_utils::{TreeCache, TreeHash, tree_hash_atom, tree_hash_cached};
use clvmr::allocator::{Allocator, NodePtr, SExp};
use std::collections::HashMap;

/// Most curried arguments a puzzle may have and still be looked at as curried.
const MAX_ARGUMENTS: usize = 8;
/// How many unknown modules are kept for comparison; of each known one the first copy is.
const MAX_UNKNOWN_SAMPLES: usize = 4;
/// Most nodes compared. The largest known module, that of CAT 2, has fewer.
const MAX_COMPARED: usize = 1024;
/// Puzzles inside puzzles are looked at this deep.
const MAX_DEPTH: usize = 8;

/// Opcode `q`.
const QUOTE: u32 = 1;
/// Opcode `a`.
const APPLY: u32 = 2;
/// Opcode `c`.
const CONS: u32 = 4;

/// A puzzle, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Puzzle {
    /// Its tree hash.
    pub(crate) hash: TreeHash,
    /// The module it is made of, if that is a known one.
    pub(crate) module: Option<Module>,
    /// What was curried into the module: values and their tree hashes. Empty if the module is not known.
    pub(crate) arguments: Vec<(NodePtr, TreeHash)>,
}

impl Puzzle {
    /// The arguments, if there are exactly `N`.
    pub(crate) fn arguments<const N: usize>(&self) -> Option<&[(NodePtr, TreeHash); N]> {
        self.arguments.as_slice().try_into().ok()
    }
}

/// Recognises the puzzles of one block.
#[derive(Default)]
pub(crate) struct Recognizer {
    cache: TreeCache,
    seen: HashMap<NodePtr, (TreeHash, Option<Module>)>,
    samples: Vec<(NodePtr, TreeHash, Option<Module>)>,
    unknown_samples: usize,
}

impl Recognizer {
    /// Takes a puzzle apart.
    pub(crate) fn puzzle(&mut self, a: &Allocator, node: NodePtr) -> Puzzle {
        self.puzzle_at_depth(a, node, 0)
    }

    /// The tree hash of any value.
    pub(crate) fn hash(&mut self, a: &Allocator, node: NodePtr) -> TreeHash {
        match a.sexp(node) {
            SExp::Atom => tree_hash_atom(a.atom(node).as_ref()),
            SExp::Pair(..) => tree_hash_cached(a, node, &mut self.cache),
        }
    }

    fn puzzle_at_depth(&mut self, a: &Allocator, node: NodePtr, depth: usize) -> Puzzle {
        let Some((program, arguments)) = uncurry(a, node) else {
            let hash = self.hash(a, node);
            return Puzzle { hash, module: Module::from_hash(hash.to_bytes()), arguments: vec![] };
        };
        let (program_hash, module) = self.module(a, program);
        let arguments: Vec<(NodePtr, TreeHash)> = arguments
            .into_iter()
            .map(|argument| {
                let hash = if module.is_some() && depth < MAX_DEPTH {
                    self.argument(a, argument, depth + 1)
                } else {
                    self.hash(a, argument)
                };
                (argument, hash)
            })
            .collect();
        let hashes: [TreeHash; MAX_ARGUMENTS] =
            std::array::from_fn(|i| arguments.get(i).map_or(program_hash, |argument| argument.1));
        let hash = curried(program_hash, &hashes[..arguments.len()]);
        if module.is_some() {
            return Puzzle { hash, module, arguments };
        }
        // a module without arguments may look curried: its own hash tells
        Puzzle { hash, module: Module::from_hash(hash.to_bytes()), arguments: vec![] }
    }

    /// The hash of an argument, which may be a puzzle itself. A few kilobytes can spell a puzzle with eight copies of
    /// another, with eight copies of another, and so on, so each is taken apart once.
    fn argument(&mut self, a: &Allocator, node: NodePtr, depth: usize) -> TreeHash {
        if let Some(known) = self.cache.get(node) {
            return *known;
        }
        let hash = self.puzzle_at_depth(a, node, depth).hash;
        self.cache.insert(node, &hash);
        hash
    }

    /// The hash of a module, and which one it is.
    fn module(&mut self, a: &Allocator, node: NodePtr) -> (TreeHash, Option<Module>) {
        if let Some(known) = self.seen.get(&node) {
            return *known;
        }
        let samples = self.samples.iter();
        let sample = samples.copied().find(|sample| clvm::same(a, sample.0, node, MAX_COMPARED));
        let known = if let Some((_, hash, module)) = sample {
            (hash, module)
        } else {
            let hash = self.hash(a, node);
            let module = Module::from_hash(hash.to_bytes());
            if module.is_some() || self.unknown_samples < MAX_UNKNOWN_SAMPLES {
                self.unknown_samples += usize::from(module.is_none());
                self.samples.push((node, hash, module));
            }
            (hash, module)
        };
        self.seen.insert(node, known);
        known
    }
}

/// Takes `(a (q . program) (c (q . argument) … 1))` apart.
fn uncurry(a: &Allocator, node: NodePtr) -> Option<(NodePtr, Vec<NodePtr>)> {
    let [program, mut rest] = operands(a, node, APPLY)?;
    let program = quoted(a, program)?;
    let mut arguments = Vec::with_capacity(MAX_ARGUMENTS);
    while let Some([argument, next]) = operands(a, rest, CONS) {
        if arguments.len() == MAX_ARGUMENTS {
            return None;
        }
        arguments.push(quoted(a, argument)?);
        rest = next;
    }
    (clvm::small(a, rest) == Some(1)).then_some((program, arguments))
}

/// The two operands of `(operator x y)`.
fn operands(a: &Allocator, node: NodePtr, operator: u32) -> Option<[NodePtr; 2]> {
    let (head, rest) = a.next(node)?;
    if clvm::small(a, head) != Some(operator) {
        return None;
    }
    let (x, rest) = a.next(rest)?;
    let (y, end) = a.next(rest)?;
    clvm::is_nil(a, end).then_some([x, y])
}

/// What is quoted in `(q . x)`.
fn quoted(a: &Allocator, node: NodePtr) -> Option<NodePtr> {
    let (head, rest) = a.next(node)?;
    (clvm::small(a, head) == Some(QUOTE)).then_some(rest)
}
