//! Singletons: one coin at a time, with an identity that stays (CHIP-0002's top layer, versions 1.0 and 1.1).

use super::{Holding, Layer, Reveal, puzzle_hash};
use crate::clvm;
use crate::conditions::Create;
use crate::curry::curried;
use crate::modules::Module;
use crate::puzzle::Puzzle;
use chia_puzzles::SINGLETON_LAUNCHER_HASH;
use clvm_utils::TreeHash;
use clvmr::allocator::{Allocator, NodePtr};
use mojoscan_domain::record::PuzzleName;
use mojoscan_domain::{Kind, LauncherId, PuzzleHash};

/// A genuine singleton puzzle and its solution.
#[derive(Clone, Copy)]
pub(super) struct Singleton {
    pub(super) launcher: LauncherId,
    pub(super) module: Module,
    /// Hash of `(module hash . (launcher id . launcher puzzle hash))`.
    pub(super) structure: TreeHash,
    pub(super) inner: NodePtr,
    pub(super) inner_solution: NodePtr,
    /// The lineage proof has two elements: the parent is the launcher.
    pub(super) eve: bool,
}

impl Singleton {
    pub(super) fn read(a: &Allocator, puzzle: &Puzzle, solution: NodePtr) -> Option<Self> {
        let module = puzzle.module.filter(|m| matches!(m, Module::SingletonV1 | Module::SingletonV1_1))?;
        let [structure, inner] = puzzle.arguments::<2>()?;
        let (module_hash, launcher) = a.next(structure.0)?;
        let (launcher, launcher_puzzle_hash) = a.next(launcher)?;
        let genuine = clvm::bytes32(a, module_hash)?.to_bytes() == module.hash()
            && clvm::bytes32(a, launcher_puzzle_hash)?.to_bytes() == SINGLETON_LAUNCHER_HASH;
        if !genuine {
            return None;
        }
        let [proof, _amount, inner_solution] = clvm::take(a, solution)?;
        let (_, proof) = a.next(proof)?;
        let (_, third) = a.next(proof)?;
        Some(Self {
            launcher: clvm::bytes32(a, launcher)?,
            module,
            structure: structure.1,
            inner: inner.0,
            inner_solution,
            eve: clvm::is_nil(a, third),
        })
    }

    /// The puzzle hash of this singleton with another inner puzzle.
    pub(super) fn around(&self, inner: TreeHash) -> PuzzleHash {
        puzzle_hash(curried(TreeHash::new(self.module.hash()), &[self.structure, inner]))
    }

    /// A singleton that is neither NFT nor DID.
    pub(super) fn reveal(self, full: Holding, inner: Option<Module>) -> Reveal {
        let name = match inner {
            Some(Module::PoolMember) => PuzzleName::PoolMember,
            Some(Module::PoolWaitingRoom) => PuzzleName::PoolWaitingRoom,
            _ => PuzzleName::Singleton,
        };
        let holding = if self.eve { full } else { Holding::of(full.owner, Kind::Singleton, self.launcher) };
        Reveal {
            name,
            holdings: vec![holding],
            doubtful: false,
            eve: self.eve,
            layer: Layer::Singleton(self),
        }
    }

    /// The one output with an odd amount carries the singleton on (the top layer sees to it); the others are plain.
    pub(super) fn children(
        &self,
        creates: &[Create],
        mut heir: impl FnMut(&Create) -> Holding,
    ) -> Vec<Holding> {
        creates
            .iter()
            .map(
                |create| {
                    if create.amount % 2 == 1 { heir(create) } else { Holding::plain(create.puzzle_hash) }
                },
            )
            .collect()
    }
}
