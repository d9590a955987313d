//! A view of a partition: rows at or below a height, of one epoch.

use super::rows::{StoredCoin, StoredItem, list_number};
use super::tables::{BalanceRow, Present, PresentBalance, Tables, number_buckets};
use crate::projection::{Account, AssetId, CoinRow, Item, List};
use crate::store::{AddressView, Heard, HeldNft, ViewError};
use futures::{TryStreamExt, future};
use mojoscan_domain::{CoinId, Position, PuzzleHash};
use mojoscan_engines::scylla::{Checkpoint, Hash, Number, damaged};
use mojoscan_pipeline::{Partition, StoreError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// NFTs that are read at a time.
const NFTS_AT_ONCE: i32 = 500;

/// A view of a partition.
pub struct ScyllaView {
    tables: Arc<Tables>,
    partition: Partition,
    checkpoint: Checkpoint,
    position: Position,
    height: Option<u32>,
    /// Heads that were read: within a view they do not change.
    heads: Mutex<HashMap<PuzzleHash, Arc<Owner>>>,
}

/// An owner, as of the view.
#[derive(Debug, Default)]
struct Owner {
    account: Account,
    present: Present,
}

impl ScyllaView {
    pub(super) async fn open(
        tables: Arc<Tables>,
        partition: Partition,
        asked: Option<u32>,
    ) -> Result<Self, ViewError> {
        let checkpoint = tables.meta.state(&tables.cql, partition).await?.checkpoint;
        let mut position = checkpoint.position;
        let reached = checkpoint.height();
        if let Some(asked) = asked.filter(|asked| Some(*asked) != reached) {
            if reached.is_none_or(|reached| asked > reached) {
                return Err(ViewError::TooHigh { asked, reached });
            }
            let then = tables.meta.find_at(&tables.cql, partition, asked).await?;
            position.block = then.and_then(|then| then.position.block);
        }
        let height = asked.or(reached);
        Ok(Self { tables, partition, checkpoint, position, height, heads: Mutex::default() })
    }

    /// An owner's head; none before the first block.
    async fn owner(&self, owner: PuzzleHash) -> Result<Arc<Owner>, ViewError> {
        let Some(height) = self.height else { return Ok(Arc::default()) };
        let known = self.heads.lock().unwrap_or_else(PoisonError::into_inner).get(&owner).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let present = self.tables.present(owner).await?;
        let head = self.tables.account_at(owner, &present, height).await?;
        let found =
            Arc::new(Owner { account: head.map(|(_, account)| account).unwrap_or_default(), present });
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).insert(owner, Arc::clone(&found));
        Ok(found)
    }

    /// Rows are missing: either a rewind has taken them away, or the store is damaged.
    async fn incomplete(&self, what: &str, owner: PuzzleHash) -> ViewError {
        match self.moved().await {
            Ok(false) => damaged(format!("{what} of {owner} are missing")).into(),
            Ok(true) => ViewError::Moved,
            Err(error) => error.into(),
        }
    }

    async fn moved(&self) -> Result<bool, StoreError> {
        let now = self.tables.meta.state(&self.tables.cql, self.partition).await?;
        Ok(now.checkpoint.position.epoch != self.checkpoint.position.epoch)
    }
}

impl AddressView for ScyllaView {
    fn position(&self) -> Position {
        self.position
    }

    fn height(&self) -> Option<u32> {
        self.height
    }

    fn heard(&self) -> Heard {
        Heard { peak_height: self.checkpoint.peak_height, at_ms: self.checkpoint.heard_at_ms }
    }

    async fn account(&self, owner: PuzzleHash) -> Result<Account, ViewError> {
        Ok(self.owner(owner).await?.account)
    }

    async fn balances(&self, owner: PuzzleHash) -> Result<Vec<(AssetId, u128)>, ViewError> {
        let Some(height) = self.height else { return Ok(vec![]) };
        let tables = &self.tables;
        let rows = tables.cql.scan::<BalanceRow>(&tables.sql.list_balances, (Hash(owner),)).await?;
        let presents: Vec<PresentBalance> =
            rows.try_filter_map(|row| future::ready(PresentBalance::new(row))).try_collect().await?;
        let balances = tables.cql.each(presents, |present: PresentBalance| async move {
            let balance = tables.balance_at(owner, &present, height).await?;
            Ok((present.asset, balance.map_or(0, |(_, balance)| balance)))
        });
        let mut balances = balances.await?;
        balances.retain(|(_, balance)| *balance > 0);
        balances.sort_unstable();
        Ok(balances)
    }

    async fn nfts(&self, owner: PuzzleHash, count: usize) -> Result<Vec<HeldNft>, ViewError> {
        type Row = (Number, Option<Hash>, Option<Hash>, Option<Number>, Option<Number>);
        let Some(height) = self.height else { return Ok(vec![]) };
        let head = self.owner(owner).await?;
        let wanted = count.min(usize::try_from(head.account.nfts).unwrap_or(usize::MAX));
        let mut buckets = head.present.nft_buckets.clone();
        buckets.sort_unstable();
        let mut found = vec![];
        while let Some(bucket) = buckets.pop().filter(|_| found.len() < wanted) {
            let mut before = head.account.coins + 1;
            while before > 1 && found.len() < wanted {
                let key = (Hash(owner), Number(bucket), Number(before - 1), NFTS_AT_ONCE);
                let rows = self.tables.cql.rows::<Row>(&self.tables.sql.list_nfts, key).await?;
                before = rows.last().map_or(1, |row| row.0.0);
                for (_, launcher, coin, acquired, lost) in rows {
                    // the row of an NFT that a late writer says is lost, but does not know, is nothing
                    let (Some(launcher), Some(coin), Some(acquired)) = (launcher, coin, acquired) else {
                        continue;
                    };
                    let acquired = acquired.height()?;
                    let held = acquired <= height && lost.is_none_or(|lost| lost > height.into());
                    if held && found.len() < wanted {
                        found.push(HeldNft { launcher: launcher.0, coin: coin.0, height: acquired });
                    }
                }
            }
        }
        if found.len() < wanted {
            return Err(self.incomplete("NFTs", owner).await);
        }
        Ok(found)
    }

    async fn items(
        &self,
        owner: PuzzleHash,
        list: List,
        before: u64,
        count: usize,
    ) -> Result<Vec<(u64, Item)>, ViewError> {
        let length = self.owner(owner).await?.account.lists[list as usize];
        let Some(page) = Page::of(length, before, count) else { return Ok(vec![]) };
        let mut items = Vec::with_capacity(page.len());
        for bucket in number_buckets(page.first, page.last).rev() {
            let key = (Hash(owner), list_number(list), Number(bucket), Number(page.first), Number(page.last));
            let rows = self.tables.cql.rows::<StoredItem>(&self.tables.sql.list_items, key).await?;
            for row in rows {
                items.push(row.try_into()?);
            }
        }
        if items.len() == page.len() { Ok(items) } else { Err(self.incomplete("list items", owner).await) }
    }

    async fn coins(
        &self,
        owner: PuzzleHash,
        before: u64,
        count: usize,
    ) -> Result<Vec<(u64, CoinRow)>, ViewError> {
        let Some(height) = self.height else { return Ok(vec![]) };
        let Some(page) = Page::of(self.owner(owner).await?.account.coins, before, count) else {
            return Ok(vec![]);
        };
        let mut coins = Vec::with_capacity(page.len());
        for bucket in number_buckets(page.first, page.last).rev() {
            let key = (Hash(owner), Number(bucket), Number(page.first), Number(page.last));
            for row in self.tables.cql.rows::<StoredCoin>(&self.tables.sql.list_coins, key).await? {
                let (number, row) = <(u64, CoinRow)>::try_from(row)?;
                coins.push((number, row.at(height)));
            }
        }
        if coins.len() == page.len() { Ok(coins) } else { Err(self.incomplete("coins", owner).await) }
    }

    async fn holds(&self, owner: PuzzleHash, coin: CoinId) -> Result<bool, ViewError> {
        let Some(height) = self.height else { return Ok(false) };
        Ok(self.tables.coin_number(owner, coin, height).await?.is_some())
    }

    async fn finish(self) -> Result<(), ViewError> {
        if self.moved().await? { Err(ViewError::Moved) } else { Ok(()) }
    }
}

/// The numbers of a page's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Page {
    first: u64,
    last: u64,
}

impl Page {
    /// The newest `count` of `length` rows with numbers below `before`; none if there are none.
    fn of(length: u64, before: u64, count: usize) -> Option<Self> {
        let last = length.min(before.saturating_sub(1));
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let first = last.saturating_sub(count).saturating_add(1);
        (first <= last).then_some(Self { first, last })
    }

    /// How many rows it must have.
    fn len(self) -> usize {
        usize::try_from(self.last - self.first + 1).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Page;

    #[test]
    fn a_page_has_the_newest_rows() {
        let page = |first, last| Some(Page { first, last });
        assert_eq!(Page::of(10, u64::MAX, 3), page(8, 10));
        assert_eq!(Page::of(10, 8, 3), page(5, 7));
        assert_eq!(Page::of(10, 3, 3), page(1, 2));
        assert_eq!(Page::of(10, u64::MAX, usize::MAX), page(1, 10));
        for (length, before, count) in [(0, 9, 9), (9, 0, 9), (9, 1, 9), (9, 9, 0)] {
            assert_eq!(Page::of(length, before, count), None);
        }
    }
}
