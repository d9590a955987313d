//! From the spends of a block to its events: who owned what, who paid whom.

use crate::layer::Holding;
use crate::spend::{Child, Spend};
use crate::transactions;
use mojoscan_domain::record::{CoinCreated, CoinSpent, Output, Sender, Tag, Transaction};
use mojoscan_domain::{BURN, Bytes32, Coin, CoinId, PuzzleHash, SETTLEMENTS};
use std::collections::HashMap;

/// What happened to coins in one block: every creation, then every spend.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Events {
    /// Coins created: rewards first, then in the order of the spends that made them.
    pub created: Vec<CoinCreated>,
    /// Coins spent, in the generator's order. Each as the copy for its likeliest owner.
    pub spent: Vec<SpentEvent>,
}

/// A coin was spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpentEvent {
    /// The copy for the likeliest owner.
    pub first: CoinSpent,
    /// The other owners it may have been created under, and what it is then.
    pub others: Vec<(Bytes32, mojoscan_domain::Asset)>,
}

/// Where coins stand in a block, by their ids.
struct Places {
    /// Which spend is a coin's.
    spent: HashMap<CoinId, usize>,
    /// What the block creates and spends again.
    passing: HashMap<CoinId, Holding>,
}

/// A block's spends, and where each stands.
struct Index<'a> {
    spends: &'a [Spend],
    places: &'a Places,
}

/// Puts the events of a block together.
pub(crate) fn assemble(rewards: &[Coin], mut spends: Vec<Spend>) -> Events {
    let places = Places::new(rewards, &spends);
    places.settle_holdings(&mut spends);
    let transactions = transactions::group(&spends, &places.spent);
    let index = Index { spends: &spends, places: &places };
    let spent = (0..spends.len()).map(|at| index.spent_event(at, transactions[at])).collect();
    let senders: Vec<Sender> = (0..spends.len()).map(|at| index.sender(at)).collect();
    let children: usize = spends.iter().map(|spend| spend.children.len()).sum();
    let mut created = Vec::with_capacity(rewards.len() + children);
    created.extend(rewards.iter().map(|coin| places.reward(coin)));
    for ((spend, sender), transaction) in spends.into_iter().zip(senders).zip(transactions) {
        created.extend(spend.children.into_iter().map(|child| CoinCreated {
            passing: places.passes(child.id, child.holding.owner),
            id: child.id,
            coin: child.coin,
            owner: child.holding.owner,
            asset: child.holding.asset,
            memos: child.memos,
            sender: Some(sender.clone()),
            transaction: Some(transaction),
        }));
    }
    Events { created, spent }
}

impl Places {
    fn new(rewards: &[Coin], spends: &[Spend]) -> Self {
        let spent: HashMap<_, _> = spends.iter().enumerate().map(|(at, spend)| (spend.id, at)).collect();
        let rewards = rewards.iter().map(|coin| (coin.id(), Holding::plain(coin.puzzle_hash)));
        let children = spends.iter().flat_map(|spend| &spend.children).map(|child| (child.id, child.holding));
        let passing = children.chain(rewards).filter(|(id, _)| spent.contains_key(id)).collect();
        Self { spent, passing }
    }

    /// Where a coin was created in this very block, there is no doubt how.
    fn settle_holdings(&self, spends: &mut [Spend]) {
        for spend in spends {
            if let Some(holding) = self.passing.get(&spend.id) {
                spend.holdings = vec![*holding];
                spend.doubtful = false;
            }
        }
    }

    fn reward(&self, coin: &Coin) -> CoinCreated {
        let (id, owner) = (coin.id(), coin.puzzle_hash);
        CoinCreated {
            id,
            coin: *coin,
            owner,
            asset: Holding::plain(owner).asset,
            memos: Default::default(),
            sender: None,
            transaction: None,
            passing: self.passes(id, owner),
        }
    }

    /// Whether a new coin is a settlement coin that this block spends again.
    fn passes(&self, id: CoinId, owner: PuzzleHash) -> bool {
        SETTLEMENTS.contains(&owner) && self.spent.contains_key(&id)
    }

    /// Whether a spent coin is a settlement coin that this block created.
    fn passed(&self, spend: &Spend) -> bool {
        SETTLEMENTS.contains(&spend.holdings[0].owner) && self.passing.contains_key(&spend.id)
    }
}

impl Index<'_> {
    /// Who pays the coins that a spend creates: passing settlement coins are looked through.
    fn sender(&self, at: usize) -> Sender {
        let mut payer = &self.spends[at];
        while self.places.passed(payer)
            && let Some(parent) = self.places.spent.get(&payer.coin.parent)
        {
            payer = &self.spends[*parent];
        }
        Sender {
            coin: payer.id,
            owner: payer.holdings[0].owner,
            otherwise: payer.holdings[1..].iter().map(|holding| holding.owner).collect(),
            doubtful: payer.doubtful,
        }
    }

    fn spent_event(&self, at: usize, transaction: Transaction) -> SpentEvent {
        let spend = &self.spends[at];
        let likeliest = spend.holdings[0];
        let passing = self.places.passed(spend);
        let first = CoinSpent {
            id: spend.id,
            coin: spend.coin,
            owner: likeliest.owner,
            conditional: spend.holdings.len() > 1,
            copy: 0,
            asset: likeliest.asset,
            puzzle: spend.name,
            transaction,
            tags: tags(spend),
            passing,
            outputs: self.outputs(spend, passing),
            part: 0,
        };
        let others = spend.holdings[1..].iter().map(|holding| (holding.owner, holding.asset)).collect();
        SpentEvent { first, others }
    }

    /// What a spend made; behind each passing output what was paid through it. A passing coin's own outputs are not
    /// looked through again, so that no payment stands in more than two records.
    fn outputs(&self, spend: &Spend, passing: bool) -> Vec<Output> {
        let mut outputs = Vec::with_capacity(spend.children.len());
        let mut open: Vec<(&Child, Option<CoinId>)> =
            spend.children.iter().rev().map(|child| (child, None)).collect();
        while let Some((child, via)) = open.pop() {
            let passes = self.places.passes(child.id, child.holding.owner);
            outputs.push(Output {
                id: child.id,
                puzzle_hash: child.coin.puzzle_hash,
                owner: child.holding.owner,
                amount: child.coin.amount,
                asset: child.holding.asset,
                memos: child.memos.clone(),
                passing: passes,
                via,
            });
            if passes
                && !passing
                && let Some(at) = self.places.spent.get(&child.id)
            {
                let paid = self.spends[*at].children.iter().rev();
                open.extend(paid.map(|paid| (paid, Some(child.id))));
            }
        }
        outputs
    }
}

/// What a spend did.
fn tags(spend: &Spend) -> Vec<Tag> {
    use mojoscan_domain::record::PuzzleName;
    let owner = spend.holdings[0].owner;
    let to = |test: &dyn Fn(&Child) -> bool| spend.children.iter().any(test);
    let moved = match (spend.name, &spend.nft) {
        // an eve coin is no NFT yet, so that nothing of it can be transferred
        (PuzzleName::Nft, Some(change)) => !spend.eve && change.p2.is_some_and(|p2| p2 != owner),
        (PuzzleName::Launcher, _) => false,
        _ => to(&|child| child.holding.owner != owner),
    };
    let change = spend.nft.unwrap_or_default();
    let mints = spend.eve && spend.name == PuzzleName::Nft && change.p2.is_some();
    let offer = SETTLEMENTS.contains(&owner) || to(&|child| SETTLEMENTS.contains(&child.holding.owner));
    let found = [
        (Tag::Mint, mints),
        (Tag::Transfer, moved),
        (Tag::Offer, offer),
        (Tag::DidAssign, change.did == Some(true)),
        (Tag::DidUnassign, change.did == Some(false)),
        (Tag::MetadataUpdate, change.metadata),
        (Tag::Burn, to(&|child| child.holding.owner == BURN)),
        (Tag::Launcher, spend.name == PuzzleName::Launcher),
    ];
    found.into_iter().filter_map(|(tag, applies)| applies.then_some(tag)).collect()
}
