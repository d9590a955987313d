//! Follows the chain, decodes blocks, publishes records.
//!
//! What flows in: blocks of a [`source`]. What flows out: batches to a [`Publisher`](mojoscan_pipeline::Publisher).
//! [`Ingestor`] catches up with the source's peak, then follows it block by block; a reorg is found by looking back
//! for the block that both chains have, and published as a rewind to it.

mod backfill;
mod decode;
mod fork;
mod ingestor;
mod metrics;
pub mod source;

pub use ingestor::{Following, IngestError, Ingestor, IngestorOptions};
