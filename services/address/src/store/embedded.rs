//! The rows of addresses in the embedded store.
//!
//! | table | key | value |
//! |---|---|---|
//! | `accounts` | owner, height (newest first) | [`Account`](crate::projection::Account) |
//! | `balances` | owner, asset, height (newest first) | balance |
//! | `coins` | owner, number (newest first) | [`CoinRow`](crate::projection::CoinRow) |
//! | `coin_numbers` | coin id | owner, number |
//! | `items` | owner, list, number (newest first) | [`Item`](crate::projection::Item) |
//! | `nfts` | owner, number (newest first) of the coin | NFT held now |
//! | `past_nfts` | owner, height of loss, number | NFT held before |
//! | `journal` | height | what a rewind must visit |
//!
//! A commit is one atomic batch. There is one partition.

mod commit;
mod digest;
mod load;
mod rewind;
mod tables;
mod view;

pub use view::EmbeddedView;

use crate::projection::{AddressProjection, Changes, Keys, Prior};
use crate::store::{AddressStore, ViewError};
use mojoscan_domain::record::Watermark;
use mojoscan_domain::{Digest, Position, PuzzleHash};
use mojoscan_engines::embedded::{Embedded, Settings, blocking};
use mojoscan_pipeline::{Partition, Store, StoreError};
use std::sync::Arc;
use tables::Tables;

/// Version of the layout of the rows.
const LAYOUT: u32 = 1;

/// The rows of addresses in the embedded store.
#[derive(Clone)]
pub struct EmbeddedAddressStore {
    tables: Arc<Tables>,
}

impl EmbeddedAddressStore {
    /// Opens the tables, for one network and one meaning of dust. `journal_depth` is how many blocks below the
    /// source's peak a rewind can go back.
    ///
    /// # Errors
    /// [`StoreError::Broken`] if the store was made for something else.
    pub fn open(
        embedded: &Embedded,
        network: &str,
        dust_below: u64,
        journal_depth: u32,
    ) -> Result<Self, StoreError> {
        let settings = Settings { layout: LAYOUT, network: network.to_owned(), dust_below };
        Ok(Self { tables: Arc::new(Tables::open(embedded, &settings, journal_depth)?) })
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tables) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let tables = Arc::clone(&self.tables);
        blocking(move || work(&tables)).await
    }
}

impl Store<AddressProjection> for EmbeddedAddressStore {
    async fn position(&self, _partition: Partition) -> Result<Position, StoreError> {
        self.with(|tables| Ok(tables.meta.checkpoint(&tables.embedded.snapshot())?.position())).await
    }

    async fn load(&self, _partition: Partition, at: Position, keys: Keys) -> Result<Prior, StoreError> {
        self.with(move |tables| load::load(tables, at, &keys)).await
    }

    async fn commit(
        &self,
        _partition: Partition,
        at: Position,
        changes: Changes,
        to: Position,
        watermark: Watermark,
    ) -> Result<(), StoreError> {
        self.with(move |tables| commit::commit(tables, at, &changes, to, &watermark)).await
    }

    async fn rewind(&self, _partition: Partition, at: Position, to: Position) -> Result<(), StoreError> {
        self.with(move |tables| rewind::rewind(tables, at, to)).await
    }
}

impl AddressStore for EmbeddedAddressStore {
    type View = EmbeddedView;

    fn partition_of(&self, _owner: PuzzleHash) -> Partition {
        0
    }

    async fn view(&self, _partition: Partition, height: Option<u32>) -> Result<EmbeddedView, ViewError> {
        let tables = Arc::clone(&self.tables);
        match blocking(move || Ok(EmbeddedView::open(tables, height))).await? {
            Ok(view) => Ok(view),
            Err(error) => Err(error),
        }
    }

    async fn digest(&self, _partition: Partition) -> Result<(Position, Digest), StoreError> {
        self.with(|tables| {
            let checkpoint = tables.meta.checkpoint(&tables.embedded.snapshot())?;
            Ok((checkpoint.position(), checkpoint.digest()))
        })
        .await
    }

    async fn recomputed_digest(&self, _partition: Partition) -> Result<(Position, Digest), StoreError> {
        self.with(digest::recompute).await
    }
}
