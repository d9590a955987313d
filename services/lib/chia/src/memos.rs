//! Memos: what a payer writes on a coin.

use crate::limits::{MAX_MEMO_BYTES, MAX_MEMO_NODES, MAX_MEMOS};
use clvmr::allocator::{Allocator, NodePtr, SExp};
use mojoscan_domain::record::Memos;

/// Reads a memo list: its atoms in order, nested lists flattened depth first. What ends a list is not a memo, and an
/// atom in place of the list is none either. A kilobyte of generator can spell a list of 2^60 nodes, so the walk is
/// bounded, and cut between whole memos.
pub(crate) fn read(a: &Allocator, list: NodePtr) -> Memos {
    let mut memos = Memos::default();
    let mut next = Some(list);
    let mut open = vec![];
    let (mut nodes, mut bytes) = (0, 0);
    while let Some(list) = next {
        let SExp::Pair(item, rest) = a.sexp(list) else {
            next = open.pop();
            continue;
        };
        nodes += 1;
        memos.truncated = nodes > MAX_MEMO_NODES;
        if memos.truncated {
            break;
        }
        if matches!(a.sexp(item), SExp::Pair(..)) {
            open.push(rest);
            next = Some(item);
            continue;
        }
        next = Some(rest);
        bytes += a.atom_len(item);
        memos.truncated = memos.items.len() == MAX_MEMOS || bytes > MAX_MEMO_BYTES;
        if memos.truncated {
            break;
        }
        memos.items.push(a.atom(item).as_ref().to_vec());
    }
    memos
}

/// The hint of a coin: its first memo, if that stands at the head of the list and has 32 bytes (CHIP-0020).
pub(crate) fn hint(a: &Allocator, list: NodePtr) -> Option<mojoscan_domain::Bytes32> {
    crate::clvm::bytes32(a, crate::clvm::first(a, list)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(a: &mut Allocator, items: &[NodePtr]) -> NodePtr {
        items.iter().rev().fold(NodePtr::NIL, |rest, item| a.new_pair(*item, rest).unwrap())
    }

    #[test]
    fn nested_lists_are_flattened_depth_first() {
        let a = &mut Allocator::new();
        let atoms: Vec<NodePtr> =
            (b'a'..=b'e').map(|letter| a.new_atom(&[letter, letter]).unwrap()).collect();
        let inner = list(a, &[atoms[1], atoms[2]]);
        let nested = list(a, &[inner, atoms[3]]);
        let all = list(a, &[atoms[0], nested, NodePtr::NIL, atoms[4]]);
        let memos = read(a, all);
        assert_eq!(memos.items, [&b"aa"[..], b"bb", b"cc", b"dd", b"", b"ee"]);
        assert!(!memos.truncated);
        assert_eq!(read(a, NodePtr::NIL), Memos::default());
        assert_eq!(read(a, atoms[0]), Memos::default());
        let improper = a.new_pair(atoms[0], atoms[1]).unwrap();
        assert_eq!(read(a, improper).items, [b"aa"]);
    }

    #[test]
    fn a_bomb_is_cut() {
        let a = &mut Allocator::new();
        let mut bomb = a.new_atom(b"boom").unwrap();
        for _ in 0..60 {
            bomb = a.new_pair(bomb, bomb).unwrap();
        }
        let memos = read(a, bomb);
        assert!(memos.truncated);
        assert!(memos.items.len() <= MAX_MEMOS);
    }

    #[test]
    fn cut_between_whole_memos() {
        let a = &mut Allocator::new();
        let small = a.new_atom(b"x").unwrap();
        let many = list(a, &[small; MAX_MEMOS + 1]);
        assert_eq!((read(a, many).items.len(), read(a, many).truncated), (MAX_MEMOS, true));
        let exactly = list(a, &[small; MAX_MEMOS]);
        assert_eq!((read(a, exactly).items.len(), read(a, exactly).truncated), (MAX_MEMOS, false));
        let large = a.new_atom(&[7; MAX_MEMO_BYTES - 1]).unwrap();
        let fits = list(a, &[small, large]);
        assert_eq!((read(a, fits).items.len(), read(a, fits).truncated), (2, false));
        let over = list(a, &[small, large, small]);
        assert_eq!((read(a, over).items.len(), read(a, over).truncated), (2, true));
    }
}
