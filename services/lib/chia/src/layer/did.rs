//! Decentralised identities (CHIP-0004).

use super::{Holding, Layer, Reveal, singleton::Singleton};
use crate::conditions::Create;
use crate::curry::curried;
use crate::modules::Module;
use crate::puzzle::Puzzle;
use clvm_utils::TreeHash;
use mojoscan_domain::record::PuzzleName;
use mojoscan_domain::{Kind, PuzzleHash};

/// A genuine DID puzzle and its solution.
pub(super) struct Did {
    singleton: Singleton,
    p2: PuzzleHash,
    /// Recovery list hash, number of verifications, singleton structure, metadata.
    arguments: [TreeHash; 4],
}

impl Did {
    pub(super) fn read(singleton: &Singleton, inner: &Puzzle) -> Option<Self> {
        if singleton.module != Module::SingletonV1_1 || inner.module != Some(Module::Did) {
            return None;
        }
        let [p2, recovery, verifications, structure, metadata] = inner.arguments::<5>()?;
        let genuine = structure.1 == singleton.structure;
        genuine.then(|| Self {
            singleton: *singleton,
            p2: super::puzzle_hash(p2.1),
            arguments: [recovery.1, verifications.1, structure.1, metadata.1],
        })
    }

    pub(super) fn reveal(self, full: Holding) -> Reveal {
        let of = |owner| Holding::of(owner, Kind::Did, self.singleton.launcher);
        let eve = self.singleton.eve;
        let holdings = if eve { vec![full] } else { vec![of(self.p2), of(full.owner)] };
        Reveal { name: PuzzleName::Did, holdings, doubtful: !eve, eve, layer: Layer::Did(self) }
    }

    /// The heir belongs to its hint if the hint, with all else as it was, leads to its puzzle hash. Where it does not,
    /// the DID changed in a way that its parent's spend does not show, and only the full puzzle hash is certain.
    pub(super) fn children(&self, creates: &[Create]) -> Vec<Holding> {
        let [recovery, verifications, structure, metadata] = self.arguments;
        self.singleton.children(creates, |create| {
            let owner = create
                .hint
                .filter(|hint| {
                    let p2 = TreeHash::new(hint.to_bytes());
                    let arguments = [p2, recovery, verifications, structure, metadata];
                    let inner = curried(TreeHash::new(Module::Did.hash()), &arguments);
                    self.singleton.around(inner) == create.puzzle_hash
                })
                .unwrap_or(create.puzzle_hash);
            Holding::of(owner, Kind::Did, self.singleton.launcher)
        })
    }
}
