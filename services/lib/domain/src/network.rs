//! The networks this build knows, with the constants of each.

use crate::Bytes32;
use hex_literal::hex;
use std::fmt;
use std::str::FromStr;

/// A Chia network. Everything that differs between networks is asked of this type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// The main network.
    Mainnet,
    /// The public test network.
    Testnet11,
    /// The network of the node's own simulator.
    Simulator0,
}

/// A network name that this build does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown network '{0}': expected mainnet, testnet11 or simulator0")]
pub struct UnknownNetwork(String);

impl Network {
    /// Every network.
    pub const ALL: [Self; 3] = [Self::Mainnet, Self::Testnet11, Self::Simulator0];

    /// The name nodes use for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mainnet => "mainnet",
            Self::Testnet11 => "testnet11",
            Self::Simulator0 => "simulator0",
        }
    }

    /// The human-readable part of its addresses.
    pub const fn address_prefix(self) -> &'static str {
        match self {
            Self::Mainnet => "xch",
            Self::Testnet11 | Self::Simulator0 => "txch",
        }
    }

    /// The genesis challenge: the "previous hash" of block 0 and the source of the parent ids of reward coins.
    pub const fn genesis_challenge(self) -> Bytes32 {
        Bytes32::new(match self {
            Self::Mainnet => hex!("ccd5bb71183532bff220ba46c268991a3ff07eb358e8255a65c30a2dce0e5fbb"),
            Self::Testnet11 => hex!("37a90eb5185a9c4439a91ddc98bbadce7b4feba060d50116a067de66bf236615"),
            Self::Simulator0 => hex!("eb8c4d20b322be8d9fddbf9412016bdffe9a2901d7edb0e364e94266d0e095f7"),
        })
    }

    /// The network with this genesis challenge.
    pub fn from_genesis_challenge(challenge: Bytes32) -> Option<Self> {
        Self::ALL.into_iter().find(|network| network.genesis_challenge() == challenge)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Network {
    type Err = UnknownNetwork;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|network| network.name() == name)
            .ok_or_else(|| UnknownNetwork(name.to_owned()))
    }
}
