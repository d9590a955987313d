//! The records that go from the ingestor to the projections, and to other teams: the topics' content as plain values.
//!
//! The rules behind the fields stand in `proto/mojoscan/coins/v1/coins.proto`; this is the same contract in Rust.

mod coins;
mod control;
mod puzzle;
mod transaction;

pub use coins::{CoinCreated, CoinEvent, CoinSpent, Memos, Output, Sender};
pub use control::{BlockRecord, Place, Record, Rewind, Sequenced, Watermark};
pub use puzzle::PuzzleName;
pub use transaction::{Tag, Transaction, TransactionType};
