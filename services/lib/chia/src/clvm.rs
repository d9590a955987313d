//! Small readers over CLVM values. None of them can fail on a valid block; all of them say `None` on anything else.

use chia_consensus::sanitize_int::{SanitizedUint, sanitize_uint};
use chia_consensus::validation_error::{ErrorCode, ValidationErr};
use clvmr::allocator::{Allocator, NodePtr, SExp};
use mojoscan_domain::Bytes32;

/// The first `N` items of a list, which may be longer and need not end in nil.
pub(crate) fn take<const N: usize>(a: &Allocator, mut list: NodePtr) -> Option<[NodePtr; N]> {
    let mut items = [NodePtr::NIL; N];
    for item in &mut items {
        (*item, list) = a.next(list)?;
    }
    Some(items)
}

/// The first item of a list.
pub(crate) fn first(a: &Allocator, list: NodePtr) -> Option<NodePtr> {
    a.next(list).map(|(first, _)| first)
}

/// The items of a list, up to the first thing that is not a pair.
pub(crate) fn items(a: &Allocator, mut list: NodePtr) -> impl Iterator<Item = NodePtr> + use<'_> {
    std::iter::from_fn(move || {
        let (item, rest) = a.next(list)?;
        list = rest;
        Some(item)
    })
}

/// Whether this is an atom without bytes, which is also the empty list.
pub(crate) fn is_nil(a: &Allocator, node: NodePtr) -> bool {
    matches!(a.sexp(node), SExp::Atom) && a.atom_len(node) == 0
}

/// An atom of 32 bytes.
pub(crate) fn bytes32(a: &Allocator, node: NodePtr) -> Option<Bytes32> {
    match a.sexp(node) {
        SExp::Atom if a.atom_len(node) == 32 => Bytes32::try_from(a.atom(node).as_ref()).ok(),
        _ => None,
    }
}

/// An amount: a minimal non-negative integer below 2^64, as consensus demands.
pub(crate) fn amount(a: &Allocator, node: NodePtr) -> Option<u64> {
    match sanitize_uint(a, node, 8, ValidationErr::Err(ErrorCode::InvalidCoinAmount)) {
        Ok(SanitizedUint::Ok(amount)) => Some(amount),
        _ => None,
    }
}

/// The code of a condition or an opcode: an atom of at most four bytes, minimally encoded.
pub(crate) fn small(a: &Allocator, node: NodePtr) -> Option<u32> {
    match a.sexp(node) {
        SExp::Atom => a.small_number(node),
        SExp::Pair(..) => None,
    }
}

/// Whether two values are the same, looking at no more than `budget` pairs of nodes; beyond that, `false`.
pub(crate) fn same(a: &Allocator, left: NodePtr, right: NodePtr, budget: usize) -> bool {
    let mut left_over = vec![(left, right)];
    let mut looked_at = 0;
    while let Some((left, right)) = left_over.pop() {
        if left == right {
            continue;
        }
        looked_at += 1;
        if looked_at > budget {
            return false;
        }
        match (a.sexp(left), a.sexp(right)) {
            (SExp::Pair(left_first, left_rest), SExp::Pair(right_first, right_rest)) => {
                left_over.push((left_rest, right_rest));
                left_over.push((left_first, right_first));
            }
            (SExp::Atom, SExp::Atom) if a.atom_eq(left, right) => {}
            _ => return false,
        }
    }
    true
}
