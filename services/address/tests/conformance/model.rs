//! What a store should hold: rows in maps, made from scratch, block by block.

use super::chain::{Block, DUST_BELOW};
use mojoscan_address::projection::{
    Account, AddressProjection, AssetId, Changes, CoinRow, Item, Keys, List, Prior,
};
use mojoscan_address::store::HeldNft;
use mojoscan_domain::{CoinId, Digest, Kind, PuzzleHash};
use mojoscan_pipeline::Projection;
use std::collections::BTreeMap;

/// The projection that fills the stores.
pub(crate) const PROJECTION: AddressProjection = AddressProjection { dust_below: DUST_BELOW };

/// The rows of one partition.
#[derive(Debug, Default)]
pub(crate) struct Model {
    accounts: BTreeMap<PuzzleHash, Account>,
    balances: BTreeMap<(PuzzleHash, AssetId), u128>,
    coins: BTreeMap<(PuzzleHash, u64), CoinRow>,
    items: BTreeMap<(PuzzleHash, usize, u64), Item>,
    numbers: BTreeMap<(PuzzleHash, CoinId), u64>,
    /// The digest of all of them.
    pub(crate) digest: Digest,
}

/// Everything that a view says of an owner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) account: Account,
    pub(crate) balances: Vec<(AssetId, u128)>,
    pub(crate) nfts: Vec<HeldNft>,
    pub(crate) lists: [Vec<(u64, Item)>; List::ALL.len()],
    pub(crate) coins: Vec<(u64, CoinRow)>,
}

impl Model {
    /// The rows that these blocks make, of the owners who belong to the partition.
    pub(crate) fn of(blocks: &[Block], belongs: impl Fn(PuzzleHash) -> bool) -> Self {
        let mut model = Self::default();
        for block in blocks {
            let events: Vec<_> =
                block.events.iter().filter(|(_, event)| belongs(event.owner())).cloned().collect();
            let prior = model.prior(&PROJECTION.keys(&events));
            model.apply(PROJECTION.project(prior, &events).unwrap());
        }
        model
    }

    /// Those of the rows that a batch needs to know.
    pub(crate) fn prior(&self, keys: &Keys) -> Prior {
        let mut prior = Prior::default();
        for owner in &keys.owners {
            prior.accounts.extend(self.accounts.get(owner).map(|account| (*owner, *account)));
        }
        let mut balances = keys.balances.clone();
        for (owner, id) in &keys.coins {
            let Some(number) = self.numbers.get(&(*owner, *id)) else { continue };
            let row = &self.coins[&(*owner, *number)];
            balances
                .extend(row.asset.id.filter(|_| row.asset.kind == Kind::Cat).map(|asset| (*owner, asset)));
            prior.coins.insert((*owner, *id), (*number, row.clone()));
        }
        for key in balances {
            prior.balances.extend(self.balances.get(&key).map(|balance| (key, *balance)));
        }
        prior
    }

    fn apply(&mut self, changes: Changes) {
        self.accounts.extend(changes.accounts.into_iter().map(|(owner, _, account)| (owner, account)));
        let balances = changes.balances.into_iter();
        self.balances.extend(balances.map(|(owner, asset, _, balance)| ((owner, asset), balance)));
        for (owner, number, row) in changes.coins {
            self.numbers.insert((owner, row.id), number);
            self.coins.insert((owner, number), row);
        }
        let items = changes.items.into_iter();
        self.items.extend(items.map(|(owner, list, number, item)| ((owner, list as usize, number), item)));
        self.digest += changes.digest;
    }

    /// What a view must say of an owner.
    pub(crate) fn seen(&self, owner: PuzzleHash) -> Seen {
        let coins: Vec<(u64, CoinRow)> = self
            .coins
            .range((owner, 0)..=(owner, u64::MAX))
            .rev()
            .map(|((_, number), row)| (*number, row.clone()))
            .collect();
        let held = coins.iter().filter(|(_, row)| row.asset.kind == Kind::Nft && row.spent.is_none());
        let nft = |(_, row): &(u64, CoinRow)| HeldNft {
            launcher: row.asset.id.unwrap_or_default(),
            coin: row.id,
            height: row.created.height,
        };
        let list = |list| {
            let items = self.items.range((owner, list, 0)..=(owner, list, u64::MAX)).rev();
            items.map(|((_, _, number), item)| (*number, item.clone())).collect()
        };
        let balances = self.balances.iter().filter(|((of, _), balance)| *of == owner && **balance > 0);
        Seen {
            account: self.accounts.get(&owner).copied().unwrap_or_default(),
            balances: balances.map(|((_, asset), balance)| (*asset, *balance)).collect(),
            nfts: held.map(nft).collect(),
            lists: std::array::from_fn(list),
            coins,
        }
    }
}
