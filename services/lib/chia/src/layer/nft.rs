//! NFTs: singletons with a state layer and an ownership layer (CHIP-0005).

use super::{Holding, Layer, Reveal, puzzle_hash, singleton::Singleton};
use crate::clvm;
use crate::conditions::{self, Create};
use crate::curry::curried;
use crate::machine::{Machine, RunError};
use crate::modules::Module;
use crate::puzzle::{Puzzle, Recognizer};
use clvm_utils::{TreeCache, TreeHash, tree_hash_atom, tree_hash_cached};
use clvmr::allocator::{Allocator, NodePtr, SExp};
use mojoscan_domain::record::PuzzleName;
use mojoscan_domain::{Kind, PuzzleHash};

/// The condition by which an inner puzzle asks the ownership layer for another owning DID: -10.
const CHANGE_OWNER: &[u8] = &[0xf6];
/// The condition by which an inner puzzle asks the state layer for other metadata: -24.
const CHANGE_METADATA: &[u8] = &[0xe8];

/// Most such conditions of one spend that are tried.
const MAX_REQUESTS: usize = 4;

/// A genuine NFT puzzle and its solution.
pub(super) struct Nft {
    singleton: Singleton,
    state: State,
    ownership: Ownership,
    metadata: NodePtr,
    updater_hash: NodePtr,
    transfer_program: NodePtr,
    current_owner: NodePtr,
    p2: NodePtr,
    p2_solution: NodePtr,
    /// The ownership layer's puzzle and solution.
    layer: (NodePtr, NodePtr),
}

/// What the state layer holds besides its inner puzzle.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    module: TreeHash,
    metadata: TreeHash,
    updater: TreeHash,
}

/// What the ownership layer holds.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ownership {
    module: TreeHash,
    owner: TreeHash,
    transfer_program: TreeHash,
    p2: TreeHash,
}

impl State {
    fn around(&self, ownership: TreeHash) -> TreeHash {
        let arguments = [self.module, self.metadata, self.updater, ownership];
        curried(TreeHash::new(Module::NftState.hash()), &arguments)
    }
}

impl Ownership {
    fn hash(&self) -> TreeHash {
        let arguments = [self.module, self.owner, self.transfer_program, self.p2];
        curried(TreeHash::new(Module::NftOwnership.hash()), &arguments)
    }
}

/// How an NFT's spend changed it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// The new p2 puzzle hash; none if the NFT was melted, or left the ownership layer behind.
    pub(crate) p2: Option<PuzzleHash>,
    /// It has another owning DID than before: whether it has one at all now.
    pub(crate) did: Option<bool>,
    /// It has other metadata than before.
    pub(crate) metadata: bool,
}

impl Nft {
    pub(super) fn read(
        a: &Allocator,
        recognizer: &mut Recognizer,
        singleton: &Singleton,
        state: &Puzzle,
    ) -> Option<Self> {
        if singleton.module != Module::SingletonV1_1 || state.module != Some(Module::NftState) {
            return None;
        }
        let [state_module, metadata, updater, inner] = state.arguments::<4>()?;
        let ownership = recognizer.puzzle(a, inner.0);
        if ownership.module != Some(Module::NftOwnership) {
            return None;
        }
        let [module, owner, transfer_program, p2] = ownership.arguments::<4>()?;
        let genuine = clvm::bytes32(a, state_module.0)?.to_bytes() == Module::NftState.hash()
            && clvm::bytes32(a, module.0)?.to_bytes() == Module::NftOwnership.hash();
        if !genuine {
            return None;
        }
        let ownership_solution = clvm::first(a, singleton.inner_solution)?;
        Some(Self {
            singleton: *singleton,
            state: State { module: state_module.1, metadata: metadata.1, updater: updater.1 },
            ownership: Ownership {
                module: module.1,
                owner: owner.1,
                transfer_program: transfer_program.1,
                p2: p2.1,
            },
            metadata: metadata.0,
            updater_hash: updater.0,
            transfer_program: transfer_program.0,
            current_owner: owner.0,
            p2: p2.0,
            p2_solution: clvm::first(a, ownership_solution)?,
            layer: (inner.0, ownership_solution),
        })
    }

    pub(super) fn reveal(self, full: Holding) -> Reveal {
        let (launcher, eve) = (self.singleton.launcher, self.singleton.eve);
        let holdings = if eve {
            vec![full]
        } else {
            let owner = puzzle_hash(self.ownership.p2);
            vec![
                Holding::of(owner, Kind::Nft, launcher),
                // a singleton may have become an NFT in its parent's spend, which then proves no more than that
                Holding::of(full.owner, Kind::Singleton, launcher),
            ]
        };
        Reveal { name: PuzzleName::Nft, holdings, doubtful: false, eve, layer: Layer::Nft(self) }
    }

    /// Who owns the coins of an NFT's spend.
    pub(super) fn children(&self, creates: &[Create], change: &Change) -> Vec<Holding> {
        self.singleton.children(creates, |create| match change.p2 {
            Some(p2) => Holding::of(p2, Kind::Nft, self.singleton.launcher),
            None => Holding::of(create.puzzle_hash, Kind::Singleton, self.singleton.launcher),
        })
    }

    /// Finds out how the spend changes the NFT. Most spends only move it: then the hint, with all else as it was,
    /// leads to the new puzzle hash. Otherwise the layers are run one by one.
    pub(super) fn change(&self, machine: &mut Machine, creates: &[Create]) -> Result<Change, RunError> {
        let Some(heir) = creates.iter().find(|create| create.amount % 2 == 1) else {
            return Ok(Change::default());
        };
        if let Some(p2) = heir.hint
            && self.leads_to(heir, &self.state, &self.owned_by(p2))
        {
            return Ok(Change { p2: Some(p2), ..Change::default() });
        }
        match self.run_layers(machine, heir) {
            Ok(change) => Ok(change),
            Err(RunError::Failed(_)) => Ok(Change::default()),
            Err(limit @ RunError::Limit(_)) => Err(limit),
        }
    }

    fn owned_by(&self, p2: PuzzleHash) -> Ownership {
        Ownership { p2: TreeHash::new(p2.to_bytes()), ..self.ownership }
    }

    fn leads_to(&self, heir: &Create, state: &State, ownership: &Ownership) -> bool {
        self.singleton.around(state.around(ownership.hash())) == heir.puzzle_hash
    }

    fn run_layers(&self, machine: &mut Machine, heir: &Create) -> Result<Change, RunError> {
        let before = machine.allocator.checkpoint();
        let inner = machine.rerun(self.p2, self.p2_solution)?;
        let created = conditions::creates(&machine.allocator, inner);
        let Some(p2) = created.iter().find(|create| create.amount % 2 == 1).map(|create| create.puzzle_hash)
        else {
            return Ok(Change::default());
        };
        let ownerships = self.ownerships(machine, inner, &self.owned_by(p2))?;
        let leads = |state: &State| ownerships.iter().find(|ownership| self.leads_to(heir, state, ownership));
        let mut found = leads(&self.state).map(|ownership| (self.state, ownership));
        if found.is_none() {
            // each part of the spend is run again once at a time, in the room that the spend had
            machine.allocator.restore_checkpoint(&before);
            let states = self.states(machine)?;
            found = states.into_iter().find_map(|state| Some((state, leads(&state)?)));
        }
        let nobody = tree_hash_atom(&[]);
        Ok(Change {
            p2: Some(p2),
            did: found.and_then(|(_, ownership)| {
                (ownership.owner != self.ownership.owner).then_some(ownership.owner != nobody)
            }),
            metadata: found.is_some_and(|(state, _)| state != self.state),
        })
    }

    /// The ownership layers the spend may leave: as it was, and as each `CHANGE_OWNER` makes it.
    fn ownerships(
        &self,
        machine: &mut Machine,
        inner: NodePtr,
        unchanged: &Ownership,
    ) -> Result<Vec<Ownership>, RunError> {
        let (mut found, mut cache) = (vec![*unchanged], TreeCache::default());
        for arguments in requests(&machine.allocator, inner, CHANGE_OWNER) {
            let environment = list(machine, &[self.current_owner, inner, arguments])?;
            let output = machine.rerun(self.transfer_program, environment)?;
            if let Some([owner, program]) = clvm::take(&machine.allocator, output) {
                let owner = tree_hash_cached(&machine.allocator, owner, &mut cache);
                let kept = Ownership { owner, ..*unchanged };
                let transfer_program = tree_hash_cached(&machine.allocator, program, &mut cache);
                found.extend([kept, Ownership { transfer_program, ..kept }]);
            }
        }
        Ok(found)
    }

    /// The changed state layers the spend may leave: as each `CHANGE_METADATA` makes it.
    fn states(&self, machine: &mut Machine) -> Result<Vec<State>, RunError> {
        let (mut found, mut cache) = (vec![], TreeCache::default());
        let output = machine.rerun(self.layer.0, self.layer.1)?;
        for arguments in requests(&machine.allocator, output, CHANGE_METADATA) {
            let Some([updater, solution]) = clvm::take(&machine.allocator, arguments) else { continue };
            let environment = list(machine, &[self.metadata, self.updater_hash, solution])?;
            let output = machine.rerun(updater, environment)?;
            let a = &machine.allocator;
            if let Some([metadata, updater]) = clvm::first(a, output).and_then(|new| clvm::take(a, new)) {
                let metadata = tree_hash_cached(a, metadata, &mut cache);
                let updater = tree_hash_cached(a, updater, &mut cache);
                found.push(State { metadata, updater, ..self.state });
            }
        }
        Ok(found)
    }
}

/// The arguments of each condition with this (one-byte, negative) opcode. The layers heed one.
fn requests(a: &Allocator, output: NodePtr, opcode: &[u8]) -> Vec<NodePtr> {
    clvm::items(a, output)
        .filter_map(|condition| {
            let (code, arguments) = a.next(condition)?;
            (matches!(a.sexp(code), SExp::Atom) && a.atom(code).as_ref() == opcode).then_some(arguments)
        })
        .take(MAX_REQUESTS)
        .collect()
}

fn list(machine: &mut Machine, items: &[NodePtr]) -> Result<NodePtr, RunError> {
    items.iter().rev().try_fold(NodePtr::NIL, |rest, item| {
        machine.allocator.new_pair(*item, rest).map_err(|error| RunError::Failed(error.to_string()))
    })
}
