//! CATs, version 1 and 2, with or without a revocation layer (CHIP-0038).

use super::{Holding, Layer, Reveal, coin_id, puzzle_hash};
use crate::clvm;
use crate::conditions::{self, Create};
use crate::curry::curried;
use crate::machine::{Machine, RunError};
use crate::modules::Module;
use crate::puzzle::{Puzzle, Recognizer};
use clvm_utils::{TreeHash, tree_hash_atom};
use clvmr::allocator::{Allocator, NodePtr};
use mojoscan_domain::record::PuzzleName;
use mojoscan_domain::{Bytes32, Coin, Kind, PuzzleHash, SETTLEMENTS};
use std::collections::HashMap;

/// A genuine CAT puzzle and its solution.
pub(super) struct Cat {
    asset_id: Bytes32,
    shell: Shell,
    name: PuzzleName,
    inner: NodePtr,
    inner_hash: PuzzleHash,
    inner_solution: NodePtr,
    revocation: Option<Revocation>,
    /// The parent was a coin of this CAT, by a lineage proof that holds.
    lineage: bool,
}

/// The CAT layer around an inner puzzle.
#[derive(Clone, Copy)]
struct Shell {
    module: Module,
    arguments: [TreeHash; 2],
}

/// The revocation layer around an inner puzzle.
#[derive(Clone, Copy)]
struct Revocation {
    arguments: [TreeHash; 2],
    p2: PuzzleHash,
}

impl Shell {
    fn around(&self, inner: PuzzleHash) -> PuzzleHash {
        let [module, tail] = self.arguments;
        let module_hash = TreeHash::new(self.module.hash());
        puzzle_hash(curried(module_hash, &[module, tail, TreeHash::new(inner.to_bytes())]))
    }
}

impl Revocation {
    fn read(a: &Allocator, puzzle: &Puzzle) -> Option<Self> {
        if puzzle.module != Some(Module::Revocation) {
            return None;
        }
        let [module, hidden, p2] = puzzle.arguments::<3>()?;
        let genuine = clvm::bytes32(a, module.0)?.to_bytes() == Module::Revocation.hash();
        clvm::bytes32(a, hidden.0)?;
        genuine.then_some(Self { arguments: [module.1, hidden.1], p2: clvm::bytes32(a, p2.0)? })
    }

    fn around(&self, p2: PuzzleHash) -> PuzzleHash {
        let [module, hidden] = self.arguments;
        let module_hash = TreeHash::new(Module::Revocation.hash());
        puzzle_hash(curried(module_hash, &[module, hidden, tree_hash_atom(p2.as_slice())]))
    }
}

impl Cat {
    pub(super) fn read(
        a: &Allocator,
        recognizer: &mut Recognizer,
        puzzle: &Puzzle,
        solution: NodePtr,
        coin: &Coin,
    ) -> Option<Self> {
        let (module, name) = match puzzle.module {
            Some(module @ Module::Cat2) => (module, PuzzleName::Cat2),
            Some(module @ Module::Cat1) => (module, PuzzleName::Cat1),
            _ => return None,
        };
        let [module_hash, tail, inner] = puzzle.arguments::<3>()?;
        if clvm::bytes32(a, module_hash.0)?.to_bytes() != module.hash() {
            return None;
        }
        let asset_id = clvm::bytes32(a, tail.0)?;
        let [inner_solution, lineage_proof] = clvm::take(a, solution)?;
        let shell = Shell { module, arguments: [module_hash.1, tail.1] };
        Some(Self {
            asset_id,
            shell,
            name,
            inner: inner.0,
            inner_hash: puzzle_hash(inner.1),
            inner_solution,
            revocation: Revocation::read(a, &recognizer.puzzle(a, inner.0)),
            lineage: lineage(a, &shell, lineage_proof, coin).unwrap_or(false),
        })
    }

    pub(super) fn reveal(self, full: Holding) -> Reveal {
        let of = |owner| Holding::of(owner, Kind::Cat, self.asset_id);
        let mut holdings = vec![of(self.inner_hash), full];
        if let Some(revocation) = self.revocation {
            holdings.insert(0, of(revocation.p2));
        }
        if !self.lineage {
            // most likely an eve coin
            holdings.rotate_right(1);
        }
        let doubtful = !self.lineage || self.revocation.is_some();
        Reveal { name: self.name, holdings, doubtful, eve: false, layer: Layer::Cat(self) }
    }

    /// Who owns the coins of a CAT's spend. The hint is believed only if it leads to the puzzle hash, and so is that
    /// the coin is change, or offered; where none does, the inner puzzle is asked. What that does not explain either
    /// was made by the TAIL and is a plain coin.
    pub(super) fn children(
        &self,
        machine: &mut Machine,
        creates: &[Create],
    ) -> Result<Vec<Holding>, RunError> {
        let mut inner_owners = None;
        let own = self.revocation.map_or(self.inner_hash, |revocation| revocation.p2);
        creates
            .iter()
            .map(|create| {
                let mut likely = create.hint.into_iter().chain([own]).chain(SETTLEMENTS);
                let owner = match likely.find(|owner| self.leads_to(*owner, create.puzzle_hash)) {
                    Some(owner) => Some(owner),
                    None => {
                        if inner_owners.is_none() {
                            inner_owners = Some(self.inner_owners(machine)?);
                        }
                        inner_owners.as_ref().and_then(|owners| owners.get(&create.puzzle_hash).copied())
                    }
                };
                Ok(owner.map_or_else(
                    || Holding::plain(create.puzzle_hash),
                    |owner| Holding::of(owner, Kind::Cat, self.asset_id),
                ))
            })
            .collect()
    }

    fn leads_to(&self, owner: PuzzleHash, child: PuzzleHash) -> bool {
        // a coin that a revocation layer does not wrap was revoked: then only the inner puzzle knows what it made
        let inner = self.revocation.map_or(owner, |revocation| revocation.around(owner));
        self.shell.around(inner) == child
    }

    /// The owners of what the inner puzzle creates, by full puzzle hash.
    fn inner_owners(&self, machine: &mut Machine) -> Result<HashMap<PuzzleHash, PuzzleHash>, RunError> {
        let Some(output) = rerun(machine, self.inner, self.inner_solution)? else {
            return Ok(HashMap::new());
        };
        let mut owners: HashMap<PuzzleHash, PuzzleHash> = conditions::creates(&machine.allocator, output)
            .iter()
            .map(|create| (self.shell.around(create.puzzle_hash), create.puzzle_hash))
            .collect();
        if let Some(revocation) = self.revocation
            && let Some([_hidden, puzzle, solution]) = clvm::take(&machine.allocator, self.inner_solution)
            && let Some(output) = rerun(machine, puzzle, solution)?
        {
            // spent by the owner, the layer wraps what the owner's puzzle creates in itself
            for create in conditions::creates(&machine.allocator, output) {
                let child = self.shell.around(revocation.around(create.puzzle_hash));
                owners.entry(child).and_modify(|owner| *owner = create.puzzle_hash);
            }
        }
        Ok(owners)
    }
}

/// Runs an inner puzzle again; `None` if it fails by itself, which then explains nothing.
fn rerun(machine: &mut Machine, puzzle: NodePtr, solution: NodePtr) -> Result<Option<NodePtr>, RunError> {
    match machine.rerun(puzzle, solution) {
        Ok(output) => Ok(Some(output)),
        Err(RunError::Failed(_)) => Ok(None),
        Err(limit @ RunError::Limit(_)) => Err(limit),
    }
}

/// Whether a lineage proof `(parent's parent, parent's inner puzzle hash, parent's amount)` leads to the coin's parent.
fn lineage(a: &Allocator, shell: &Shell, proof: NodePtr, coin: &Coin) -> Option<bool> {
    let [parent, inner, amount] = clvm::take(a, proof)?;
    let full = shell.around(clvm::bytes32(a, inner)?);
    Some(coin_id(clvm::bytes32(a, parent)?, full, clvm::amount(a, amount)?) == coin.parent)
}
