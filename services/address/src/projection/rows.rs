//! The rows of an address.

use mojoscan_domain::record::Transaction;
use mojoscan_domain::{Asset, Bytes32, CoinId, Digest, Kind, PuzzleHash};
use serde::{Deserialize, Serialize};

/// The head of an address: every sum, and the length of every list, from one height on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Unspent XCH in mojos, dust included.
    pub xch: u128,
    /// Unspent XCH in coins that are dust, in mojos.
    pub dust: u128,
    /// Everything in the list of received XCH, in mojos.
    pub received: u128,
    /// Everything in the list of sent XCH, in mojos.
    pub sent: u128,
    /// Coins ever held.
    pub coins: u64,
    /// NFTs held.
    pub nfts: u64,
    /// Length of each list, by [`List`].
    pub lists: [u64; List::ALL.len()],
}

/// The lists of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum List {
    /// XCH sent, without dust.
    XchSent = 0,
    /// XCH received, without dust.
    XchReceived = 1,
    /// XCH sent in coins that are dust.
    DustSent = 2,
    /// XCH received in coins that are dust.
    DustReceived = 3,
    /// CAT coins sent.
    CatSent = 4,
    /// CAT coins received.
    CatReceived = 5,
    /// NFTs sent.
    NftSent = 6,
    /// NFTs received.
    NftReceived = 7,
}

impl List {
    /// Every list.
    pub const ALL: [Self; 8] = [
        Self::XchSent,
        Self::XchReceived,
        Self::DustSent,
        Self::DustReceived,
        Self::CatSent,
        Self::CatReceived,
        Self::NftSent,
        Self::NftReceived,
    ];

    /// The list a coin that was sent or received stands in, if any: DIDs and other singletons stand in none.
    pub fn of(asset: Asset, amount: u64, dust_below: u64, sent: bool) -> Option<Self> {
        let (out, back) = match asset.kind {
            Kind::Standard | Kind::Settlement if amount < dust_below => (Self::DustSent, Self::DustReceived),
            Kind::Standard | Kind::Settlement => (Self::XchSent, Self::XchReceived),
            Kind::Cat => (Self::CatSent, Self::CatReceived),
            Kind::Nft => (Self::NftSent, Self::NftReceived),
            Kind::Did | Kind::Singleton => return None,
        };
        Some(if sent { out } else { back })
    }
}

/// When something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The height of the block.
    pub height: u32,
    /// The block's time, in seconds since 1970.
    pub timestamp: u64,
}

/// The other side of a payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    /// Who it is.
    pub owner: PuzzleHash,
    /// Set if that is only a guess.
    pub doubt: Option<Doubt>,
}

/// How a guess is settled: if the guessed owner does not hold the coin, the first of the others that does is the one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// The coin that paid.
    pub coin: CoinId,
    /// Who else it may have been. The last is it if none holds the coin.
    pub others: Vec<PuzzleHash>,
}

/// A coin of an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoinRow {
    /// Its id.
    pub id: CoinId,
    /// The coin whose spend made it.
    pub parent: CoinId,
    /// Its full puzzle hash.
    pub puzzle_hash: PuzzleHash,
    /// Its amount in mojos.
    pub amount: u64,
    /// What it is.
    pub asset: Asset,
    /// Who paid it; none for a farming reward.
    pub sender: Option<Party>,
    /// Its first printable memo.
    pub memo: Option<String>,
    /// When it was created.
    pub created: Moment,
    /// What created it; none for a farming reward.
    pub transaction: Option<Transaction>,
    /// How it was spent.
    pub spent: Option<Spend>,
}

/// How a coin was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// When.
    pub at: Moment,
    /// What spent it.
    pub transaction: Transaction,
}

impl CoinRow {
    /// The row as it was at a height at which the coin was there already.
    #[must_use]
    pub fn at(mut self, height: u32) -> Self {
        self.spent = self.spent.filter(|spend| spend.at.height <= height);
        self
    }

    /// Whether it is an NFT that outlived its block: one that was ever owned at the end of a block.
    pub fn is_kept_nft(&self) -> bool {
        self.asset.kind == Kind::Nft && self.spent.is_none_or(|spend| spend.at.height != self.created.height)
    }
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The coin that was sent or received.
    pub coin: CoinId,
    /// When.
    pub at: Moment,
    /// Its amount in mojos.
    pub amount: u64,
    /// CAT: the asset id; NFT: the launcher id.
    pub asset: Option<Bytes32>,
    /// Who sent it, or to whom; none for a farming reward.
    pub party: Option<Party>,
    /// Its memos, in order.
    pub memos: Vec<Vec<u8>>,
}

/// What each row adds to the digest. A coin adds once when it is created and once more when it is spent, so that the
/// digest at a height does not depend on what came later.
pub mod digest {
    use super::{Account, CoinRow, Digest, Item, List, PuzzleHash};
    use crate::projection::AssetId;
    use serde::Serialize;

    /// A head.
    pub fn account(owner: PuzzleHash, height: u32, account: &Account) -> Digest {
        row(b"account", owner, &height.to_be_bytes(), &account)
    }

    /// A balance.
    pub fn balance(owner: PuzzleHash, asset: AssetId, height: u32, balance: u128) -> Digest {
        row(b"balance", owner, &height.to_be_bytes(), &(asset, balance))
    }

    /// A coin's creation.
    pub fn created(owner: PuzzleHash, number: u64, row_: &CoinRow) -> Digest {
        let unspent = CoinRow { spent: None, ..row_.clone() };
        row(b"created", owner, &number.to_be_bytes(), &unspent)
    }

    /// A coin's spend; nothing for an unspent coin.
    pub fn spent(owner: PuzzleHash, number: u64, row_: &CoinRow) -> Digest {
        row_.spent.map_or(Digest::EMPTY, |spend| row(b"spent", owner, &number.to_be_bytes(), &spend))
    }

    /// A list item.
    pub fn item(owner: PuzzleHash, list: List, number: u64, item: &Item) -> Digest {
        row(b"item", owner, &number.to_be_bytes(), &(list as u8, item))
    }

    fn row(table: &[u8], owner: PuzzleHash, key: &[u8], value: &impl Serialize) -> Digest {
        // cannot fail: rows are plain structures, and memory is the only thing to run out of
        let bytes = postcard::to_stdvec(value).unwrap_or_default();
        Digest::of(&[table, owner.as_slice(), key, &bytes])
    }
}
