//! The rows of addresses in the CQL store: ScyllaDB or Apache Cassandra.
//!
//! `schema.cql` lists the tables, and the question that each of them answers. Where the embedded store has one atomic
//! batch, there are steps here, each of them complete before the next begins, and each of them safe to repeat:
//!
//! - **commit**: journal → rows → heads → position. All of it is written with the sequence number of the watermark as
//!   its timestamp.
//! - **rewind**: position, with the mark that a rewind is under way → everything above the target is deleted, for
//!   every key in the journal, there or not → the journal is forgotten → the mark is cleared. All of it with the
//!   sequence number of the rewind. Whoever finds the mark finishes the rewind before anything else.
//! - **read**: position, rows at or below its height, position again. Of another epoch, the rows are thrown away.
//!
//! Invariant: everything at or below the position's height is there, and is what the log says, whoever wrote it. Two
//! writers at once write the same rows, or rows that older timestamps hide.

/// A point between two steps, at which a test can stop the store.
macro_rules! stop_here {
    ($name:literal) => {
        fail::fail_point!($name, |_| Err(mojoscan_pipeline::StoreError::Unavailable(
            "a test stopped here".to_owned()
        )))
    };
}

mod commit;
mod digest;
mod journal;
mod load;
mod rewind;
mod rows;
mod tables;
mod view;

pub use view::ScyllaView;

use crate::projection::{AddressProjection, Changes, Keys, Prior};
use crate::store::{AddressStore, ViewError};
use mojoscan_domain::record::Watermark;
use mojoscan_domain::{Digest, Position, PuzzleHash};
use mojoscan_engines::scylla::{Cql, Schema, Settings};
use mojoscan_pipeline::{Partition, Store, StoreError};
use std::sync::Arc;
use tables::Tables;

/// The tables, for `mojoscan migrate`.
pub const SCHEMA: Schema = Schema { projection: "address", text: include_str!("../../schema.cql") };

/// What the tables are for.
#[derive(Debug, Clone)]
pub struct ScyllaAddressOptions {
    /// Name of the network.
    pub network: String,
    /// Which log the rows come from: what tells its topic from any other, of the same name or not.
    pub log: String,
    /// How many partitions the coins topic has. Fixed for life.
    pub partitions: u32,
    /// XCH coins below this many mojos are dust.
    pub dust_below: u64,
    /// How many blocks below the source's peak a rewind can go back.
    pub undo_depth: u32,
}

/// The rows of addresses in the CQL store.
#[derive(Clone)]
pub struct ScyllaAddressStore {
    tables: Arc<Tables>,
}

impl ScyllaAddressStore {
    /// Opens the tables.
    ///
    /// # Errors
    /// [`StoreError::Broken`] in one line if they are not there, or were made for something else.
    pub async fn open(cql: &Cql, options: &ScyllaAddressOptions) -> Result<Self, StoreError> {
        SCHEMA.check(cql).await?;
        let settings = [
            ("network", options.network.clone()),
            ("log", options.log.clone()),
            ("partitions", options.partitions.to_string()),
            ("dust_below", options.dust_below.to_string()),
        ];
        let settings: Settings = settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Self { tables: Arc::new(Tables::open(cql, &settings, options).await?) })
    }
}

impl Store<AddressProjection> for ScyllaAddressStore {
    async fn position(&self, partition: Partition) -> Result<Position, StoreError> {
        Ok(self.tables.settled(partition).await?.position)
    }

    async fn load(&self, partition: Partition, at: Position, keys: Keys) -> Result<Prior, StoreError> {
        load::load(&self.tables, partition, at, &keys).await
    }

    async fn commit(
        &self,
        partition: Partition,
        at: Position,
        changes: Changes,
        to: Position,
        watermark: Watermark,
    ) -> Result<(), StoreError> {
        commit::commit(&self.tables, partition, at, &changes, to, &watermark).await
    }

    async fn rewind(&self, partition: Partition, at: Position, to: Position) -> Result<(), StoreError> {
        rewind::rewind(&self.tables, partition, at, to).await
    }
}

impl AddressStore for ScyllaAddressStore {
    type View = ScyllaView;

    fn partition_of(&self, owner: PuzzleHash) -> Partition {
        self.tables.partition_of(owner)
    }

    async fn view(&self, partition: Partition, height: Option<u32>) -> Result<ScyllaView, ViewError> {
        ScyllaView::open(Arc::clone(&self.tables), partition, height).await
    }

    async fn digest(&self, partition: Partition) -> Result<(Position, Digest), StoreError> {
        let checkpoint = self.tables.meta.state(&self.tables.cql, partition).await?.checkpoint;
        Ok((checkpoint.position, checkpoint.digest))
    }

    async fn recomputed_digest(&self, partition: Partition) -> Result<(Position, Digest), StoreError> {
        // a large future, and a rare one
        Box::pin(digest::recompute(&self.tables, partition)).await
    }
}
