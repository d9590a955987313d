//! Coins: what the chain is made of.

use crate::Bytes32;
use hex_literal::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The id of a coin: the hash of its parent, its puzzle hash and its amount.
pub type CoinId = Bytes32;
/// The tree hash of a puzzle. An address is a puzzle hash with a prefix and a checksum.
pub type PuzzleHash = Bytes32;
/// The coin id of the launcher of a singleton: the id of an NFT or a DID.
pub type LauncherId = Bytes32;

/// The burn address `…00dead`: nobody can know a puzzle with this hash.
pub const BURN: PuzzleHash =
    Bytes32::new(hex!("000000000000000000000000000000000000000000000000000000000000dead"));

/// Puzzle hashes of the offer settlement puzzle: the present one, and that of the time of CAT1.
pub const SETTLEMENTS: [PuzzleHash; 2] = [
    Bytes32::new(hex!("cfbfdeed5c4ca2de3d0bf520b9cb4bb7743a359bd2e6a188d19ce7dffc21d3e7")),
    Bytes32::new(hex!("bae24162efbd568f89bc7a340798a6118df0189eb9e3f8697bcea27af99f8f79")),
];

/// A coin, as consensus knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Coin {
    /// The coin whose spend made this one; for a reward, made from the genesis challenge and a height.
    pub parent: CoinId,
    /// The full puzzle hash, outer layers included.
    pub puzzle_hash: PuzzleHash,
    /// The amount in mojos.
    pub amount: u64,
}

impl Coin {
    /// The id: sha256(parent ‖ puzzle hash ‖ amount as a minimal signed big-endian integer).
    pub fn id(&self) -> CoinId {
        let mut amount = [0; 9];
        amount[1..].copy_from_slice(&self.amount.to_be_bytes());
        // a leading zero byte stays only where the next byte would read as a sign
        let start = (0..9).find(|&i| amount[i] != 0 || (i < 8 && amount[i + 1] >= 0x80)).unwrap_or(9);
        let mut hasher = Sha256::new();
        hasher.update(self.parent);
        hasher.update(self.puzzle_hash);
        hasher.update(&amount[start..]);
        Bytes32::new(hasher.finalize().into())
    }
}

/// What a coin is, fixed when it is created, from what its parent's spend proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Plain XCH, eve coins, and everything not recognised: `STND`.
    Standard,
    /// A coin of a CAT, version 1 or 2, revocable or not: `CAT`.
    Cat,
    /// A singleton with the NFT's ownership layer (CHIP-0005): `NFT`.
    Nft,
    /// A decentralised identity (CHIP-0004): `DID`.
    Did,
    /// Another singleton: `SNGL`.
    Singleton,
    /// XCH whose puzzle is the offer settlement: `SETL`.
    Settlement,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Standard, Self::Cat, Self::Nft, Self::Did, Self::Singleton, Self::Settlement];

    /// The code of the public interface.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Standard => "STND",
            Self::Cat => "CAT",
            Self::Nft => "NFT",
            Self::Did => "DID",
            Self::Singleton => "SNGL",
            Self::Settlement => "SETL",
        }
    }

    /// Whether a coin of this kind counts as XCH. The mojos inside CAT, NFT, DID and other singleton coins do not.
    pub const fn is_xch(self) -> bool {
        matches!(self, Self::Standard | Self::Settlement)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// What a coin is a coin of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Asset {
    /// The kind.
    pub kind: Kind,
    /// CAT: the asset id (hash of its TAIL). NFT, DID and other singletons: the launcher id. Otherwise none.
    pub id: Option<Bytes32>,
}

impl Asset {
    /// Plain XCH.
    pub const XCH: Self = Self { kind: Kind::Standard, id: None };

    /// An asset with an id.
    pub const fn new(kind: Kind, id: Bytes32) -> Self {
        Self { kind, id: Some(id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Network;

    fn hash(text: &str) -> Bytes32 {
        text.parse().unwrap()
    }

    /// The parent id of a reward: half of the genesis challenge, then the height.
    fn reward_parent(half: usize, height: u128) -> Bytes32 {
        let challenge = Network::Mainnet.genesis_challenge().to_bytes();
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&challenge[half * 16..half * 16 + 16]);
        bytes[16..].copy_from_slice(&height.to_be_bytes());
        Bytes32::new(bytes)
    }

    #[test]
    fn prefarm_coins() {
        let farmer = Coin {
            parent: reward_parent(1, 0),
            puzzle_hash: hash("3d8765d3a597ec1d99663f6c9816d915b9f68613ac94009884c4addaefcce6af"),
            amount: 2_625_000_000_000_000_000,
        };
        assert_eq!(farmer.id(), hash("dce550a4341e5ec31c7e3fe5c6ab9801c66ed02689725939537d8d4492465800"));
        let pool = Coin {
            parent: reward_parent(0, 0),
            puzzle_hash: hash("d23da14695a188ae5708dd152263c4db883eb27edeb936178d4d988b8f3ce5fc"),
            amount: 18_375_000_000_000_000_000,
        };
        assert_eq!(pool.id(), hash("1fd60c070e821d785b65e10e5135e52d12c8f4d902a506f48bc1c5268b7bb45b"));
    }

    #[test]
    fn amounts_are_minimal_and_signed() {
        for (amount, encoded) in [
            (0_u64, &[][..]),
            (1, &[1]),
            (0x7f, &[0x7f]),
            (0x80, &[0, 0x80]),
            (0xff, &[0, 0xff]),
            (0x100, &[1, 0]),
            (0x8000, &[0, 0x80, 0]),
            (u64::MAX, &[0, 255, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            let coin = Coin { parent: Bytes32::ZERO, puzzle_hash: Bytes32::ZERO, amount };
            let mut bytes = vec![0; 64];
            bytes.extend_from_slice(encoded);
            assert_eq!(coin.id().to_bytes(), <[u8; 32]>::from(Sha256::digest(&bytes)), "{amount}");
        }
    }
}
