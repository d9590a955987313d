//! The nouns of Mojoscan, as plain values: what the chain calls things ([`Coin`], [`BlockId`], [`Network`]), how
//! they are written ([`address`], [`amount`], [`clock`]) and the records that go from the ingestor to the
//! projections ([`record`]).
//!
//! Invariant: nothing here does I/O, is asynchronous, reads a clock or knows a wire format.

pub mod address;
pub mod amount;
mod block;
mod bytes;
pub mod clock;
mod coin;
mod digest;
mod network;
mod position;
pub mod record;

pub use block::{BlockId, Header};
pub use bytes::{Bytes32, ParseBytes32Error};
pub use coin::{Asset, BURN, Coin, CoinId, Kind, LauncherId, PuzzleHash, SETTLEMENTS};
pub use digest::Digest;
pub use network::{Network, UnknownNetwork};
pub use position::Position;
