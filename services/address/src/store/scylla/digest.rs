//! The digest of every row, computed anew.

use super::rows::{AccountCell, StoredCoin, StoredItem, list};
use super::tables::Tables;
use crate::projection::{CoinRow, Item, digest};
use futures::TryStreamExt;
use mojoscan_domain::{Digest, Position};
use mojoscan_engines::scylla::{Amount, Hash, Number, Statement};
use mojoscan_pipeline::{Partition, StoreError};
use scylla::deserialize::row::{ColumnIterator, DeserializeRow};
use scylla::deserialize::value::DeserializeValue;
use scylla::deserialize::{DeserializationError, TypeCheckError};
use scylla::frame::response::result::ColumnSpec;

/// Reads every row of every partition of the log, and takes those of one at or below its position's height.
pub(super) async fn recompute(
    tables: &Tables,
    partition: Partition,
) -> Result<(Position, Digest), StoreError> {
    let position = tables.settled(partition).await?.position;
    let Some(height) = position.block.map(|block| block.height) else { return Ok((position, Digest::EMPTY)) };
    let scan = Scan { tables, partition, height };
    let parts = futures::try_join!(scan.accounts(), scan.balances(), scan.coins(), scan.items())?;
    if tables.meta.state(&tables.cql, partition).await?.checkpoint.position.epoch != position.epoch {
        return Err(StoreError::Unavailable("a reorg passed while the rows were read".to_owned()));
    }
    Ok((position, parts.0 + parts.1 + parts.2 + parts.3))
}

struct Scan<'a> {
    tables: &'a Tables,
    partition: Partition,
    height: u32,
}

impl Scan<'_> {
    async fn accounts(&self) -> Result<Digest, StoreError> {
        type Row = (Hash, Number, AccountCell);
        let add = |(owner, height, account): Row| {
            let height = height.height()?;
            let there = self.is_ours(owner) && height <= self.height;
            if there { Ok(digest::account(owner.0, height, &account.try_into()?)) } else { Ok(Digest::EMPTY) }
        };
        self.sum(&self.tables.sql.scan_accounts, add).await
    }

    async fn balances(&self) -> Result<Digest, StoreError> {
        type Row = (Hash, Hash, Number, Amount);
        let add = |(owner, asset, height, balance): Row| {
            let height = height.height()?;
            let there = self.is_ours(owner) && height <= self.height;
            Ok(if there { digest::balance(owner.0, asset.0, height, balance.0) } else { Digest::EMPTY })
        };
        self.sum(&self.tables.sql.scan_balances, add).await
    }

    async fn coins(&self) -> Result<Digest, StoreError> {
        let add = |Behind { first: owner, row }: Behind<Hash, StoredCoin>| {
            let (number, row) = <(u64, CoinRow)>::try_from(row)?;
            if !self.is_ours(owner) || row.created.height > self.height {
                return Ok(Digest::EMPTY);
            }
            let row = row.at(self.height);
            Ok(digest::created(owner.0, number, &row) + digest::spent(owner.0, number, &row))
        };
        self.sum(&self.tables.sql.scan_coins, add).await
    }

    async fn items(&self) -> Result<Digest, StoreError> {
        type Row = Behind<Hash, Behind<i16, StoredItem>>;
        let add = |Behind { first: owner, row: Behind { first: number_of_list, row } }: Row| {
            let (number, item) = <(u64, Item)>::try_from(row)?;
            let there = self.is_ours(owner) && item.at.height <= self.height;
            if !there {
                return Ok(Digest::EMPTY);
            }
            Ok(digest::item(owner.0, list(number_of_list)?, number, &item))
        };
        self.sum(&self.tables.sql.scan_items, add).await
    }

    fn is_ours(&self, owner: Hash) -> bool {
        self.tables.partition_of(owner.0) == self.partition
    }

    async fn sum<R>(
        &self,
        scan: &Statement,
        add: impl Fn(R) -> Result<Digest, StoreError>,
    ) -> Result<Digest, StoreError>
    where
        R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata> + Send + 'static,
    {
        let mut rows = self.tables.cql.scan::<R>(scan, ()).await?;
        let mut sum = Digest::EMPTY;
        while let Some(row) = rows.try_next().await? {
            sum += add(row)?;
        }
        Ok(sum)
    }
}

/// A row behind a first column.
struct Behind<A, R> {
    first: A,
    row: R,
}

impl<'frame, 'metadata, A, R> DeserializeRow<'frame, 'metadata> for Behind<A, R>
where
    A: DeserializeValue<'frame, 'metadata>,
    R: DeserializeRow<'frame, 'metadata>,
{
    fn type_check(columns: &[ColumnSpec<'_>]) -> Result<(), TypeCheckError> {
        if let Some((first, rest)) = columns.split_first() {
            A::type_check(first.typ())?;
            return R::type_check(rest);
        }
        R::type_check(columns)
    }

    fn deserialize(mut row: ColumnIterator<'frame, 'metadata>) -> Result<Self, DeserializationError> {
        let Some(first) = row.next().transpose()? else {
            return Err(DeserializationError::new(std::fmt::Error));
        };
        let first = A::deserialize(first.spec.typ(), first.slice)?;
        Ok(Self { first, row: R::deserialize(row)? })
    }
}
