//! What a spend reveals about its coin, and proves about the coins it makes.
//!
//! A layer counts only if it is genuine: the module hash curried into it, and a singleton's launcher puzzle hash, must
//! be the true ones, and a child's puzzle hash must be the one its parts lead to. Anything else is a plain coin: else
//! anyone could forge any asset id.

mod cat;
mod did;
mod nft;
mod singleton;

pub(crate) use nft::Change as NftChange;

use crate::conditions::Create;
use crate::machine::{Machine, RunError};
use crate::modules::Module;
use crate::puzzle::{Puzzle, Recognizer};
use clvm_utils::TreeHash;
use clvmr::allocator::NodePtr;
use mojoscan_domain::record::PuzzleName;
use mojoscan_domain::{Asset, Bytes32, Coin, CoinId, Kind, PuzzleHash, SETTLEMENTS};

/// Who owns a coin, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) owner: PuzzleHash,
    pub(crate) asset: Asset,
}

impl Holding {
    /// A coin of which nothing is proven but its puzzle hash.
    pub(crate) fn plain(puzzle_hash: PuzzleHash) -> Self {
        let kind = if SETTLEMENTS.contains(&puzzle_hash) { Kind::Settlement } else { Kind::Standard };
        Self { owner: puzzle_hash, asset: Asset { kind, id: None } }
    }

    /// A coin of an asset.
    pub(crate) const fn of(owner: PuzzleHash, kind: Kind, id: Bytes32) -> Self {
        Self { owner, asset: Asset::new(kind, id) }
    }
}

/// What a spend reveals about its own coin.
pub(crate) struct Reveal {
    /// The revealed puzzle's name.
    pub(crate) name: PuzzleName,
    /// How the coin may have been created, likeliest first. Just one where the spend proves it.
    pub(crate) holdings: Vec<Holding>,
    /// Even the likeliest is only a guess: a DID, or a CAT that is revocable or spent without a lineage proof.
    pub(crate) doubtful: bool,
    /// The spend of an eve coin, the first one of a singleton: its parent is the launcher.
    pub(crate) eve: bool,
    layer: Layer,
}

enum Layer {
    Plain,
    Cat(cat::Cat),
    Nft(nft::Nft),
    Did(did::Did),
    Singleton(singleton::Singleton),
}

/// What a spend proves about the coins it makes.
pub(crate) struct Children {
    /// One for each `CREATE_COIN`, in order.
    pub(crate) holdings: Vec<Holding>,
    /// For the spend of an NFT: how it changed.
    pub(crate) nft: Option<NftChange>,
}

impl Reveal {
    /// Reads what a puzzle and its solution reveal.
    pub(crate) fn read(
        machine: &Machine,
        recognizer: &mut Recognizer,
        puzzle: &Puzzle,
        solution: NodePtr,
        coin: &Coin,
    ) -> Self {
        let a = &machine.allocator;
        let full = Holding::plain(coin.puzzle_hash);
        if let Some(cat) = cat::Cat::read(a, recognizer, puzzle, solution, coin) {
            return cat.reveal(full);
        }
        let Some(singleton) = singleton::Singleton::read(a, puzzle, solution) else {
            let name = puzzle.module.map_or(PuzzleName::Unknown, Module::name);
            return Self { name, holdings: vec![full], doubtful: false, eve: false, layer: Layer::Plain };
        };
        let inner = recognizer.puzzle(a, singleton.inner);
        if let Some(nft) = nft::Nft::read(a, recognizer, &singleton, &inner) {
            return nft.reveal(full);
        }
        if let Some(did) = did::Did::read(&singleton, &inner) {
            return did.reveal(full);
        }
        singleton.reveal(full, inner.module)
    }

    /// Classifies the coins the spend creates.
    pub(crate) fn children(&self, machine: &mut Machine, creates: &[Create]) -> Result<Children, RunError> {
        let mut nft = None;
        let holdings = match &self.layer {
            Layer::Plain => creates.iter().map(|create| Holding::plain(create.puzzle_hash)).collect(),
            Layer::Cat(cat) => cat.children(machine, creates)?,
            Layer::Did(did) => did.children(creates),
            Layer::Singleton(singleton) => singleton.children(creates, |create| {
                Holding::of(create.puzzle_hash, Kind::Singleton, singleton.launcher)
            }),
            Layer::Nft(parent) => {
                let change = parent.change(machine, creates)?;
                let holdings = parent.children(creates, &change);
                nft = Some(change);
                holdings
            }
        };
        Ok(Children { holdings, nft })
    }
}

fn puzzle_hash(hash: TreeHash) -> PuzzleHash {
    Bytes32::new(hash.to_bytes())
}

/// The id of the coin a lineage proof speaks of.
fn coin_id(parent: CoinId, puzzle_hash: PuzzleHash, amount: u64) -> CoinId {
    Coin { parent, puzzle_hash, amount }.id()
}
