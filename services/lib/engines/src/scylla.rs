//! The CQL store: ScyllaDB or Apache Cassandra, nothing that only one of them has.
//!
//! What flows in: prepared statements and their values. What flows out: rows, or one of two errors: the store does not
//! answer and may be asked again, or it is not what it should be.
//!
//! - Every write carries a timestamp that the caller gives, never a clock's: repeating it changes nothing.
//! - Writes are put together by partition into unlogged batches below 64 KB, and sent to a replica of the partition.
//! - A number of requests is in flight at a time, never more. One that fails is repeated a few times with backoff; if
//!   nothing answers any more a breaker turns requests away at once.

mod breaker;
mod config;
mod error;
mod meta;
mod migrate;
mod session;
mod tls;
mod values;
mod write;

pub use config::CqlConfig;
pub use error::damaged;
pub use meta::{Checkpoint, Meta, Rewinding, Settings, State};
pub use migrate::{Copies, Schema, copies, migrate};
pub use session::{Cql, Statement};
pub use values::{Amount, Hash, Number};
pub use write::Writes;
