//! What an event does to the rows of its owner. Pure: no clock, no I/O.
//!
//! An owner has a head, [`Account`], with every sum and the length of every list; it is versioned by height, as is the
//! balance of each of its CATs. Coins and list items are numbered in chain order, from 1, and never renumbered except
//! by a reorg. Only a coin's spend changes a row in place, and it carries its height.

mod fold;
mod rows;

pub use rows::{Account, CoinRow, Doubt, Item, List, Moment, Party, Spend, digest};

use fold::Fold;
use mojoscan_domain::record::{CoinEvent, Place};
use mojoscan_domain::{Bytes32, CoinId, Digest, PuzzleHash};
use mojoscan_pipeline::{Projection, ProjectionError};
use std::collections::{BTreeSet, HashMap};

/// The id of a CAT: the hash of its TAIL.
pub type AssetId = Bytes32;

/// Projects coin events onto addresses.
#[derive(Debug, Clone, Copy)]
pub struct AddressProjection {
    /// XCH coins below this many mojos are dust.
    pub dust_below: u64,
}

/// The rows a batch needs to know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// Heads.
    pub owners: BTreeSet<PuzzleHash>,
    /// Balances.
    pub balances: BTreeSet<(PuzzleHash, AssetId)>,
    /// Coins that may be held: spent ones, and ones that may have paid their owner's own change.
    pub coins: BTreeSet<(PuzzleHash, CoinId)>,
}

/// Those rows, as they were before the batch. What is not there does not exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prior {
    /// Heads.
    pub accounts: HashMap<PuzzleHash, Account>,
    /// Balances, also of the CATs of the coins below.
    pub balances: HashMap<(PuzzleHash, AssetId), u128>,
    /// Coins, with their numbers.
    pub coins: HashMap<(PuzzleHash, CoinId), (u64, CoinRow)>,
}

/// The rows a batch makes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Heads, by owner and the height from which they hold.
    pub accounts: Vec<(PuzzleHash, u32, Account)>,
    /// Balances, by owner, asset and the height from which they hold.
    pub balances: Vec<(PuzzleHash, AssetId, u32, u128)>,
    /// Coins, by owner and number: new ones, and older ones that were spent.
    pub coins: Vec<(PuzzleHash, u64, CoinRow)>,
    /// List items, by owner, list and number.
    pub items: Vec<(PuzzleHash, List, u64, Item)>,
    /// What the batch adds to the digest of all rows.
    pub digest: Digest,
}

impl Projection for AddressProjection {
    const NAME: &'static str = "address";

    type Event = CoinEvent;
    type Keys = Keys;
    type Prior = Prior;
    type Changes = Changes;

    fn keys(&self, events: &[(Place, CoinEvent)]) -> Keys {
        let mut keys = Keys::default();
        for (_, event) in events {
            let owner = event.owner();
            keys.owners.insert(owner);
            let asset = match event {
                CoinEvent::Created(created) => {
                    if let Some(sender) = &created.sender
                        && (sender.owner == owner || sender.otherwise.contains(&owner))
                    {
                        keys.coins.insert((owner, sender.coin));
                    }
                    created.asset
                }
                CoinEvent::Spent(spent) => {
                    keys.coins.insert((owner, spent.id));
                    spent.asset
                }
            };
            if asset.kind == mojoscan_domain::Kind::Cat
                && let Some(id) = asset.id
            {
                keys.balances.insert((owner, id));
            }
        }
        keys
    }

    fn project(&self, prior: Prior, events: &[(Place, CoinEvent)]) -> Result<Changes, ProjectionError> {
        let mut fold = Fold::new(prior, self.dust_below);
        for (place, event) in events {
            fold.event(place, event)?;
        }
        Ok(fold.finish())
    }
}
