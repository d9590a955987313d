//! Names of the puzzles that spends reveal.

use std::fmt;

macro_rules! puzzle_names {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The outermost puzzle that a spend revealed, as far as it is a known one. It says what was *revealed*; what
        /// the coin *is* was fixed when it was created.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum PuzzleName {
            $($(#[$doc])* $variant,)*
        }

        impl PuzzleName {
            /// Every name.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in records.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

puzzle_names! {
    /// Not one of the known ones.
    Unknown = "unknown",
    /// `p2_delegated_puzzle_or_hidden_puzzle`: the wallet's own.
    Standard = "standard",
    /// CAT version 2.
    Cat2 = "cat2",
    /// CAT version 1, abandoned in 2022.
    Cat1 = "cat1",
    /// Singleton with the NFT's state and ownership layers.
    Nft = "nft",
    /// Singleton with the DID layer.
    Did = "did",
    /// Singleton of a pool member.
    PoolMember = "pool_member",
    /// Singleton of a pool's waiting room.
    PoolWaitingRoom = "pool_waiting_room",
    /// Singleton with another inner puzzle.
    Singleton = "singleton",
    /// Singleton launcher.
    Launcher = "launcher",
    /// Intermediate launcher of an NFT.
    NftIntermediateLauncher = "nft_intermediate_launcher",
    /// Offer settlement, either version.
    Settlement = "settlement",
    /// `p2_singleton_or_delayed_puzhash`: where a pool's rewards go.
    P2SingletonOrDelayed = "p2_singleton_or_delayed",
    /// `p2_singleton`.
    P2Singleton = "p2_singleton",
    /// `p2_delegated_conditions`.
    P2DelegatedConditions = "p2_delegated_conditions",
    /// `p2_delegated_puzzle`.
    P2DelegatedPuzzle = "p2_delegated_puzzle",
    /// `p2_conditions`.
    P2Conditions = "p2_conditions",
    /// `p2_parent`.
    P2Parent = "p2_parent",
    /// `p2_1_of_n`: a clawback.
    P2OneOfN = "p2_1_of_n",
    /// `augmented_condition`.
    AugmentedCondition = "augmented_condition",
    /// Notification.
    Notification = "notification",
}

impl fmt::Display for PuzzleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
