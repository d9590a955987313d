//! CLVM values by hand, for coins that no wallet would make.

use clvm_utils::{TreeHash, tree_hash};
use clvmr::allocator::{Allocator, NodePtr};
use clvmr::serde::{node_from_bytes, node_to_bytes};
use mojoscan_domain::Bytes32;

/// A heap of CLVM values. Everything fits: tests are small.
#[derive(Default)]
pub struct Clvm(pub Allocator);

impl Clvm {
    /// A program or value from its serialised bytes.
    pub fn parse(&mut self, bytes: &[u8]) -> NodePtr {
        node_from_bytes(&mut self.0, bytes).unwrap()
    }

    /// An atom.
    pub fn atom(&mut self, bytes: impl AsRef<[u8]>) -> NodePtr {
        self.0.new_atom(bytes.as_ref()).unwrap()
    }

    /// An integer.
    pub fn int(&mut self, number: i128) -> NodePtr {
        self.0.new_number(number.into()).unwrap()
    }

    /// A pair.
    pub fn pair(&mut self, first: NodePtr, rest: NodePtr) -> NodePtr {
        self.0.new_pair(first, rest).unwrap()
    }

    /// A list.
    pub fn list(&mut self, items: &[NodePtr]) -> NodePtr {
        items.iter().rev().fold(NodePtr::NIL, |rest, item| self.pair(*item, rest))
    }

    /// `(q . value)`.
    pub fn quote(&mut self, value: NodePtr) -> NodePtr {
        let q = self.int(1);
        self.pair(q, value)
    }

    /// `(a (q . program) (c (q . argument) … 1))`.
    pub fn curry(&mut self, program: &[u8], arguments: &[NodePtr]) -> NodePtr {
        let program = self.parse(program);
        let mut environment = self.int(1);
        for argument in arguments.iter().rev() {
            let (c, quoted) = (self.int(4), self.quote(*argument));
            environment = self.list(&[c, quoted, environment]);
        }
        let (a, quoted) = (self.int(2), self.quote(program));
        self.list(&[a, quoted, environment])
    }

    /// `(51 puzzle_hash amount memos)`; without memos, without that argument.
    pub fn create(&mut self, puzzle_hash: Bytes32, amount: u64, memos: &[&[u8]]) -> NodePtr {
        let mut items = vec![self.int(51), self.atom(puzzle_hash), self.int(amount.into())];
        if !memos.is_empty() {
            let memos: Vec<NodePtr> = memos.iter().map(|memo| self.atom(memo)).collect();
            items.push(self.list(&memos));
        }
        self.list(&items)
    }

    /// The tree hash.
    pub fn hash(&self, value: NodePtr) -> Bytes32 {
        let hash: TreeHash = tree_hash(&self.0, value);
        Bytes32::new(hash.to_bytes())
    }

    /// The serialised bytes.
    pub fn bytes(&self, value: NodePtr) -> Vec<u8> {
        node_to_bytes(&self.0, value).unwrap()
    }
}
