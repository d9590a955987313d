//! The puzzle modules that are known by name, and their hashes.

use chia_puzzles as puzzles;
use hex_literal::hex;
use mojoscan_domain::record::PuzzleName;

/// A module that coins are made of. Each is a puzzle without its curried arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Module {
    Standard,
    Cat2,
    Cat1,
    SingletonV1,
    SingletonV1_1,
    NftState,
    NftOwnership,
    Did,
    Revocation,
    Launcher,
    NftIntermediateLauncher,
    Settlement,
    Settlement1,
    PoolMember,
    PoolWaitingRoom,
    P2SingletonOrDelayed,
    P2Singleton,
    P2DelegatedConditions,
    P2DelegatedPuzzle,
    P2Conditions,
    P2Parent,
    P2OneOfN,
    AugmentedCondition,
    Notification,
}

/// Hash of CAT version 1. Its coins still stand in old blocks; no published crate carries it.
pub(crate) const CAT1_HASH: [u8; 32] =
    hex!("72dec062874cd4d3aab892a0906688a1ae412b0109982e1797a170add88bdcdc");

const KNOWN: [(Module, [u8; 32], PuzzleName); 24] = [
    (Module::Standard, puzzles::P2_DELEGATED_PUZZLE_OR_HIDDEN_PUZZLE_HASH, PuzzleName::Standard),
    (Module::Cat2, puzzles::CAT_PUZZLE_HASH, PuzzleName::Cat2),
    (Module::Cat1, CAT1_HASH, PuzzleName::Cat1),
    (Module::SingletonV1, puzzles::SINGLETON_TOP_LAYER_HASH, PuzzleName::Singleton),
    (Module::SingletonV1_1, puzzles::SINGLETON_TOP_LAYER_V1_1_HASH, PuzzleName::Singleton),
    (Module::NftState, puzzles::NFT_STATE_LAYER_HASH, PuzzleName::Unknown),
    (Module::NftOwnership, puzzles::NFT_OWNERSHIP_LAYER_HASH, PuzzleName::Unknown),
    (Module::Did, puzzles::DID_INNERPUZ_HASH, PuzzleName::Unknown),
    (Module::Revocation, puzzles::REVOCATION_LAYER_HASH, PuzzleName::Unknown),
    (Module::Launcher, puzzles::SINGLETON_LAUNCHER_HASH, PuzzleName::Launcher),
    (
        Module::NftIntermediateLauncher,
        puzzles::NFT_INTERMEDIATE_LAUNCHER_HASH,
        PuzzleName::NftIntermediateLauncher,
    ),
    (Module::Settlement, mojoscan_domain::SETTLEMENTS[0].to_bytes(), PuzzleName::Settlement),
    (Module::Settlement1, mojoscan_domain::SETTLEMENTS[1].to_bytes(), PuzzleName::Settlement),
    (Module::PoolMember, puzzles::POOL_MEMBER_INNERPUZ_HASH, PuzzleName::Unknown),
    (Module::PoolWaitingRoom, puzzles::POOL_WAITINGROOM_INNERPUZ_HASH, PuzzleName::Unknown),
    (
        Module::P2SingletonOrDelayed,
        puzzles::P2_SINGLETON_OR_DELAYED_PUZHASH_HASH,
        PuzzleName::P2SingletonOrDelayed,
    ),
    (Module::P2Singleton, puzzles::P2_SINGLETON_HASH, PuzzleName::P2Singleton),
    (Module::P2DelegatedConditions, puzzles::P2_DELEGATED_CONDITIONS_HASH, PuzzleName::P2DelegatedConditions),
    (Module::P2DelegatedPuzzle, puzzles::P2_DELEGATED_PUZZLE_HASH, PuzzleName::P2DelegatedPuzzle),
    (Module::P2Conditions, puzzles::P2_CONDITIONS_HASH, PuzzleName::P2Conditions),
    (Module::P2Parent, puzzles::P2_PARENT_HASH, PuzzleName::P2Parent),
    (Module::P2OneOfN, puzzles::P2_1_OF_N_HASH, PuzzleName::P2OneOfN),
    (Module::AugmentedCondition, puzzles::AUGMENTED_CONDITION_HASH, PuzzleName::AugmentedCondition),
    (Module::Notification, puzzles::NOTIFICATION_HASH, PuzzleName::Notification),
];

impl Module {
    /// The module with this hash.
    pub(crate) fn from_hash(hash: [u8; 32]) -> Option<Self> {
        KNOWN.iter().find(|known| known.1 == hash).map(|known| known.0)
    }

    /// Its hash.
    pub(crate) const fn hash(self) -> [u8; 32] {
        KNOWN[self as usize].1
    }

    /// What a coin with this module outermost is called; a layer that never stands outermost is `Unknown`.
    pub(crate) const fn name(self) -> PuzzleName {
        KNOWN[self as usize].2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (index, (module, hash, _)) in KNOWN.iter().enumerate() {
            assert_eq!(*module as usize, index);
            assert_eq!(Module::from_hash(*hash), Some(*module));
        }
    }

    #[test]
    fn hashes_of_the_domain_are_those_of_the_puzzles() {
        assert_eq!(Module::Settlement.hash(), puzzles::SETTLEMENT_PAYMENT_HASH);
    }
}
