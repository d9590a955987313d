//! Transactions: which spends of a block belong together, and what they are as a whole.

use crate::conditions::Link;
use crate::spend::Spend;
use mojoscan_domain::record::{PuzzleName, Transaction, TransactionType};
use mojoscan_domain::{BURN, Bytes32, CoinId, Kind, SETTLEMENTS};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;

/// For each spend, its transaction. Spends belong together when one spends what another creates, asserts what another
/// announces, receives what another sends, or demands to be spent with another. `spent` says which spend a coin's is.
pub(crate) fn group(spends: &[Spend], spent: &HashMap<CoinId, usize>) -> Vec<Transaction> {
    let mut groups = Groups::new(spends.len());
    join(spends, spent, &mut groups);
    let mut members: Vec<Member> =
        (0..spends.len()).map(|index| Member { root: groups.root(index), index }).collect();
    members.sort_unstable();
    let mut by_root: Vec<Option<Transaction>> = vec![None; spends.len()];
    for members in members.chunk_by(|left, right| left.root == right.root) {
        by_root[members[0].root] = Some(transaction(spends, members));
    }
    (0..spends.len()).filter_map(|index| by_root[groups.root(index)]).collect()
}

/// A spend's place among the block's, and that of the first of its transaction.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    root: usize,
    index: usize,
}

/// Joins what belongs together. Every key has one spend that stands for all that meet on it: a block can hold millions
/// of announcements, each asserted by thousands of spends.
fn join(spends: &[Spend], spent: &HashMap<CoinId, usize>, groups: &mut Groups) {
    let (mut keys, mut puzzles) = wanted(spends);
    for (index, spend) in spends.iter().enumerate() {
        if let Some(first) = puzzles.get_mut(&spend.coin.puzzle_hash) {
            groups.join(index, *first.get_or_insert(index));
        }
        for link in &spend.links {
            if let Link::Give(key) = link
                && let Some(first) = keys.get_mut(key)
            {
                groups.join(index, *first.get_or_insert(index));
            }
        }
    }
    for (index, spend) in spends.iter().enumerate() {
        if let Some(parent) = spent.get(&spend.coin.parent) {
            groups.join(index, *parent);
        }
        for link in &spend.links {
            let other = match link {
                Link::Give(_) => None,
                Link::Take(key) => keys.get(key).copied().flatten(),
                Link::WithCoin(coin) => spent.get(coin).copied(),
                Link::WithPuzzle(puzzle) => puzzles.get(puzzle).copied().flatten(),
            };
            if let Some(other) = other {
                groups.join(index, other);
            }
        }
    }
}

/// By key or puzzle, the first spend that some spend wants beside its own; not known yet.
type Wanted = HashMap<Bytes32, Option<usize>>;

/// The keys that are asserted or received, and the puzzles that are demanded.
fn wanted(spends: &[Spend]) -> (Wanted, Wanted) {
    let (mut keys, mut puzzles) = (Wanted::new(), Wanted::new());
    for link in spends.iter().flat_map(|spend| &spend.links) {
        match link {
            Link::Take(key) => drop(keys.insert(*key, None)),
            Link::WithPuzzle(puzzle) => drop(puzzles.insert(*puzzle, None)),
            Link::Give(_) | Link::WithCoin(_) => {}
        }
    }
    (keys, puzzles)
}

fn transaction(spends: &[Spend], members: &[Member]) -> Transaction {
    let mut ids: Vec<CoinId> = members.iter().map(|member| spends[member.index].id).collect();
    ids.sort_unstable();
    let mut hasher = Sha256::new();
    for id in ids {
        hasher.update(id);
    }
    let fits = fits(spends, members);
    let kind = TransactionType::PRECEDENCE.into_iter().find(|kind| fits[usize::from(kind.number())]);
    Transaction {
        id: Bytes32::new(hasher.finalize().into()),
        kind: kind.unwrap_or(TransactionType::Transfer),
    }
}

/// Which types would fit a transaction, by number.
fn fits(spends: &[Spend], members: &[Member]) -> [bool; TransactionType::ALL.len()] {
    let mut fits = [false; TransactionType::ALL.len()];
    let mut supply: HashMap<Bytes32, i128> = HashMap::new();
    for member in members {
        let spend = &spends[member.index];
        let holding = spend.holdings[0];
        if holding.asset.kind == Kind::Cat
            && let Some(asset) = holding.asset.id
        {
            *supply.entry(asset).or_default() -= i128::from(spend.coin.amount);
        }
        for child in &spend.children {
            if child.holding.asset.kind == Kind::Cat
                && let Some(asset) = child.holding.asset.id
            {
                *supply.entry(asset).or_default() += i128::from(child.coin.amount);
            }
        }
        for kind in types_of(spend).into_iter().flatten() {
            fits[usize::from(kind.number())] = true;
        }
    }
    fits[usize::from(TransactionType::CatIssue.number())] = supply.values().any(|change| *change > 0);
    fits[usize::from(TransactionType::CatMelt.number())] = supply.values().any(|change| *change < 0);
    fits
}

fn types_of(spend: &Spend) -> [Option<TransactionType>; 3] {
    let owner = spend.holdings[0].owner;
    let offer = SETTLEMENTS.contains(&owner).then_some(TransactionType::Offer);
    let burns = spend.children.iter().any(|child| child.holding.owner == BURN);
    let burn = burns.then_some(TransactionType::Burn);
    let own = match spend.name {
        PuzzleName::Nft if spend.eve => Some(TransactionType::NftMint),
        PuzzleName::Nft => {
            let kept = spend.nft.and_then(|change| change.p2) == Some(owner);
            Some(if kept { TransactionType::NftUpdate } else { TransactionType::NftTransfer })
        }
        PuzzleName::Did => Some(TransactionType::Did),
        PuzzleName::Launcher
        | PuzzleName::Singleton
        | PuzzleName::PoolMember
        | PuzzleName::PoolWaitingRoom => Some(TransactionType::Other),
        _ => None,
    };
    [offer, burn, own]
}

/// Disjoint sets of indices.
struct Groups(Vec<usize>);

impl Groups {
    fn new(size: usize) -> Self {
        Self((0..size).collect())
    }

    fn root(&mut self, mut index: usize) -> usize {
        while self.0[index] != index {
            self.0[index] = self.0[self.0[index]];
            index = self.0[index];
        }
        index
    }

    fn join(&mut self, left: usize, right: usize) {
        let (left, right) = (self.root(left), self.root(right));
        let (older, newer) = (left.min(right), left.max(right));
        self.0[newer] = older;
    }
}
