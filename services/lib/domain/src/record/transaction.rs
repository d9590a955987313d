//! Transactions: spends of one block that belong together.

use crate::Bytes32;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The transaction that created or spent a coin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// sha256 of the ids of the coins spent together, in ascending byte order, joined without separators.
    pub id: Bytes32,
    /// What it was, as a whole.
    pub kind: TransactionType,
}

/// What a transaction was, as a whole. Where several would fit, the first of [`TransactionType::PRECEDENCE`] is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum TransactionType {
    /// None of the others: spends of other singletons and of their launchers.
    Other = 0,
    /// A farming reward.
    Coinbase = 1,
    /// XCH or CAT coins moved.
    Transfer = 2,
    /// An NFT changed owner.
    NftTransfer = 3,
    /// An NFT's first coin was created.
    NftMint = 4,
    /// An offer was taken: a settlement coin was spent.
    Offer = 5,
    /// CAT supply was issued: more of the asset came out than went in.
    CatIssue = 6,
    /// CAT supply was melted: less of the asset came out than went in.
    CatMelt = 7,
    /// A DID was created, changed or moved.
    Did = 8,
    /// An NFT was spent and kept its owner.
    NftUpdate = 9,
    /// A coin was sent to the burn address.
    Burn = 10,
}

impl TransactionType {
    /// Every type, by number.
    pub const ALL: [Self; 11] = [
        Self::Other,
        Self::Coinbase,
        Self::Transfer,
        Self::NftTransfer,
        Self::NftMint,
        Self::Offer,
        Self::CatIssue,
        Self::CatMelt,
        Self::Did,
        Self::NftUpdate,
        Self::Burn,
    ];

    /// Which type a transaction gets that several would fit: the first of these.
    pub const PRECEDENCE: [Self; 10] = [
        Self::Offer,
        Self::NftMint,
        Self::CatIssue,
        Self::CatMelt,
        Self::Burn,
        Self::NftTransfer,
        Self::NftUpdate,
        Self::Did,
        Self::Other,
        Self::Transfer,
    ];

    /// The number of the public interface.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The type with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The name of the public interface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Coinbase => "coinbase",
            Self::Transfer => "transfer",
            Self::NftTransfer => "nft_transfer",
            Self::NftMint => "nft_mint",
            Self::Offer => "offer",
            Self::CatIssue => "cat_issue",
            Self::CatMelt => "cat_melt",
            Self::Did => "did",
            Self::NftUpdate => "nft_update",
            Self::Burn => "burn",
        }
    }
}

impl fmt::Display for TransactionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What one spend did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Tag {
    /// Made an NFT's first coin.
    Mint = 1,
    /// Gave an NFT, or any other coin, another owner.
    Transfer = 2,
    /// Went into an offer settlement or came out of one.
    Offer = 3,
    /// Gave an NFT an owning DID.
    DidAssign = 4,
    /// Took an NFT's owning DID away.
    DidUnassign = 5,
    /// Changed an NFT's metadata.
    MetadataUpdate = 6,
    /// Sent a coin to the burn address.
    Burn = 7,
    /// Launched a singleton.
    Launcher = 8,
}

impl Tag {
    /// Every tag, by number from 1.
    pub const ALL: [Self; 8] = [
        Self::Mint,
        Self::Transfer,
        Self::Offer,
        Self::DidAssign,
        Self::DidUnassign,
        Self::MetadataUpdate,
        Self::Burn,
        Self::Launcher,
    ];

    /// The name of the public interface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mint => "mint",
            Self::Transfer => "transfer",
            Self::Offer => "offer",
            Self::DidAssign => "did_assign",
            Self::DidUnassign => "did_unassign",
            Self::MetadataUpdate => "metadata_update",
            Self::Burn => "burn",
            Self::Launcher => "launcher",
        }
    }
}
