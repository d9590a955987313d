//! From a source of blocks to rows in a store.
//!
//! The ports: [`BlockSource`] (a chain), [`Publisher`] and [`RecordLog`] (the two ends of the record log), [`Store`]
//! (where a [`Projection`] keeps its rows). The [`runner`] carries records from a log through a projection into a
//! store. [`memory`] is the log of a process that needs no broker.
//!
//! Invariant: nothing here knows a driver, a wire format or the network.

mod history;
mod ledger;
mod log;
pub mod memory;
mod partition;
mod publisher;
pub mod runner;
mod source;
mod store;

pub use history::{History, HistoryError, MemoryHistory};
pub use ledger::{Accepted, Broken, Ledger};
pub use log::{Delivery, LogError, Partition, RecordLog};
pub use partition::partition_of;
pub use publisher::{BlockEvents, PublishBatch, PublishError, Publisher, RewindTo};
pub use source::{BlockSource, Peak, SourceError};
pub use store::{Projection, ProjectionError, Store, StoreError};
