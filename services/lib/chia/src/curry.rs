//! The tree hash of a module with arguments curried into it.

use clvm_utils::{PRECOMPUTED_HASHES, TreeHash, tree_hash_pair};

/// Hashes of nil and of the opcodes `q` (also the atom 1), `a` and `c`. A block has tens of thousands of uses for them.
const NIL: TreeHash = PRECOMPUTED_HASHES[0];
const Q: TreeHash = PRECOMPUTED_HASHES[1];
const A: TreeHash = PRECOMPUTED_HASHES[2];
const C: TreeHash = PRECOMPUTED_HASHES[4];

/// The hash of `(a (q . module) (c (q . argument) … 1))`, from those of the module and of the arguments.
pub(crate) fn curried(module: TreeHash, arguments: &[TreeHash]) -> TreeHash {
    let environment = arguments.iter().rev().fold(Q, |rest, argument| {
        let operands = tree_hash_pair(tree_hash_pair(Q, *argument), tree_hash_pair(rest, NIL));
        tree_hash_pair(C, operands)
    });
    let operands = tree_hash_pair(tree_hash_pair(Q, module), tree_hash_pair(environment, NIL));
    tree_hash_pair(A, operands)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clvm_utils::{curry_tree_hash, tree_hash_atom};

    #[test]
    fn as_consensus_hashes() {
        let module = tree_hash_atom(b"module");
        let arguments: Vec<TreeHash> = (0..8).map(|n: u8| tree_hash_atom(&[n])).collect();
        for count in 0..=arguments.len() {
            let arguments = &arguments[..count];
            assert_eq!(curried(module, arguments), curry_tree_hash(module, arguments));
        }
    }
}
