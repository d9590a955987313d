//! Folds a batch of events into rows, block by block.

use super::rows::{Account, CoinRow, Doubt, Item, List, Moment, Party, Spend, digest};
use super::{AssetId, Changes, Prior};
use mojoscan_domain::record::{CoinCreated, CoinEvent, CoinSpent, Memos, Place, Sender};
use mojoscan_domain::{Asset, BlockId, Bytes32, CoinId, Kind, PuzzleHash};
use mojoscan_pipeline::ProjectionError;
use std::collections::{BTreeSet, HashSet};

/// The rows of a batch in the making. `prior` moves along with the events.
pub(super) struct Fold {
    dust_below: u64,
    prior: Prior,
    /// The block of the events being folded.
    block: Option<BlockId>,
    /// Owners and balances that the block has changed.
    touched: BTreeSet<PuzzleHash>,
    touched_balances: BTreeSet<(PuzzleHash, AssetId)>,
    /// Coins that the batch has changed.
    changed_coins: HashSet<(PuzzleHash, CoinId)>,
    changes: Changes,
}

/// Something that goes into a list.
struct Entry<'a> {
    coin: CoinId,
    amount: u64,
    asset: Asset,
    party: Option<Party>,
    memos: &'a Memos,
    sent: bool,
}

impl Fold {
    pub(super) fn new(prior: Prior, dust_below: u64) -> Self {
        Self {
            dust_below,
            prior,
            block: None,
            touched: BTreeSet::new(),
            touched_balances: BTreeSet::new(),
            changed_coins: HashSet::new(),
            changes: Changes::default(),
        }
    }

    pub(super) fn event(&mut self, place: &Place, event: &CoinEvent) -> Result<(), ProjectionError> {
        if self.block != Some(place.block) {
            self.close_block();
            self.block = Some(place.block);
        }
        match event {
            CoinEvent::Created(created) => self.created(place, created),
            CoinEvent::Spent(spent) => self.spent(place, spent),
        }
    }

    pub(super) fn finish(mut self) -> Changes {
        self.close_block();
        for key in std::mem::take(&mut self.changed_coins) {
            if let Some((number, row)) = self.prior.coins.remove(&key) {
                self.changes.coins.push((key.0, number, row));
            }
        }
        self.changes
    }

    /// Writes the heads of a block that is complete.
    fn close_block(&mut self) {
        let Some(BlockId { height, .. }) = self.block else { return };
        for owner in std::mem::take(&mut self.touched) {
            let account = self.prior.accounts.get(&owner).copied().unwrap_or_default();
            self.changes.digest += digest::account(owner, height, &account);
            self.changes.accounts.push((owner, height, account));
        }
        for (owner, asset) in std::mem::take(&mut self.touched_balances) {
            let balance = self.prior.balances.get(&(owner, asset)).copied().unwrap_or_default();
            self.changes.digest += digest::balance(owner, asset, height, balance);
            self.changes.balances.push((owner, asset, height, balance));
        }
    }

    fn created(&mut self, place: &Place, created: &CoinCreated) -> Result<(), ProjectionError> {
        let owner = created.owner;
        let (own, sender) = self.sender(owner, created.sender.as_ref());
        let row = CoinRow {
            id: created.id,
            parent: created.coin.parent,
            puzzle_hash: created.coin.puzzle_hash,
            amount: created.coin.amount,
            asset: created.asset,
            sender: sender.clone(),
            memo: created.memos.text().map(str::to_owned),
            created: moment(place),
            transaction: created.transaction,
            spent: None,
        };
        self.add(place, owner, &row)?;
        let account = self.account(owner);
        account.coins += 1;
        let number = account.coins;
        self.changes.digest += digest::created(owner, number, &row);
        if self.prior.coins.insert((owner, created.id), (number, row)).is_some() {
            let (block, coin) = (place.block, created.id);
            return Err(ProjectionError::Repeated { block, coin, what: "created" });
        }
        self.changed_coins.insert((owner, created.id));
        if created.passing || own {
            return Ok(());
        }
        let entry = Entry {
            coin: created.id,
            amount: created.coin.amount,
            asset: created.asset,
            party: sender,
            memos: &created.memos,
            sent: false,
        };
        self.list(place, owner, entry);
        Ok(())
    }

    /// Who paid a coin of this owner, and whether that was the owner.
    fn sender(&self, owner: PuzzleHash, sender: Option<&Sender>) -> (bool, Option<Party>) {
        let Some(sender) = sender else { return (false, None) };
        let mut candidates: Vec<PuzzleHash> =
            std::iter::once(sender.owner).chain(sender.otherwise.iter().copied()).collect();
        let unsure = candidates.len() > 1;
        if candidates.contains(&owner) {
            if !unsure || self.prior.coins.contains_key(&(owner, sender.coin)) {
                return (true, Some(Party { owner, doubt: None }));
            }
            candidates.retain(|candidate| *candidate != owner);
        }
        let others = candidates.split_off(1);
        let doubt = (sender.doubtful && !others.is_empty()).then_some(Doubt { coin: sender.coin, others });
        (false, Some(Party { owner: candidates[0], doubt }))
    }

    fn spent(&mut self, place: &Place, spent: &CoinSpent) -> Result<(), ProjectionError> {
        let (owner, block, coin) = (spent.owner, place.block, spent.id);
        let Some((number, row)) = self.prior.coins.get_mut(&(owner, coin)) else {
            // a copy for an owner under whom the coin was not created
            let elsewhere = spent.conditional;
            return if elsewhere { Ok(()) } else { Err(ProjectionError::UnknownCoin { block, coin, owner }) };
        };
        if spent.part == 0 {
            if row.spent.is_some() {
                return Err(ProjectionError::Repeated { block, coin, what: "spent" });
            }
            row.spent = Some(Spend { at: moment(place), transaction: spent.transaction });
            let (number, row) = (*number, row.clone());
            self.changes.digest += digest::spent(owner, number, &row);
            self.changed_coins.insert((owner, coin));
            self.remove(place, owner, &row)?;
        }
        if spent.passing {
            return Ok(());
        }
        for output in spent.outputs.iter().filter(|output| !output.passing && output.owner != owner) {
            let entry = Entry {
                coin: output.id,
                amount: output.amount,
                asset: output.asset,
                party: Some(Party { owner: output.owner, doubt: None }),
                memos: &output.memos,
                sent: true,
            };
            self.list(place, owner, entry);
        }
        Ok(())
    }

    /// Counts a new coin.
    fn add(&mut self, place: &Place, owner: PuzzleHash, row: &CoinRow) -> Result<(), ProjectionError> {
        let amount = u128::from(row.amount);
        let dust = row.amount < self.dust_below;
        let account = self.account(owner);
        let sum = |sum: u128, what| sum.checked_add(amount).ok_or_else(|| out_of_range(place, owner, what));
        if row.asset.kind.is_xch() {
            account.xch = sum(account.xch, "XCH balance")?;
            account.dust = if dust { sum(account.dust, "dust balance")? } else { account.dust };
        }
        account.nfts += u64::from(row.asset.kind == Kind::Nft);
        if let Some(asset) = cat(row.asset) {
            let balance = self.balance(owner, asset);
            *balance = sum(*balance, "CAT balance")?;
        }
        Ok(())
    }

    /// Counts a coin that is spent.
    fn remove(&mut self, place: &Place, owner: PuzzleHash, row: &CoinRow) -> Result<(), ProjectionError> {
        let amount = u128::from(row.amount);
        let dust = row.amount < self.dust_below;
        let account = self.account(owner);
        let rest = |sum: u128, what| sum.checked_sub(amount).ok_or_else(|| out_of_range(place, owner, what));
        if row.asset.kind.is_xch() {
            account.xch = rest(account.xch, "XCH balance")?;
            account.dust = if dust { rest(account.dust, "dust balance")? } else { account.dust };
        }
        if row.asset.kind == Kind::Nft {
            account.nfts =
                account.nfts.checked_sub(1).ok_or_else(|| out_of_range(place, owner, "NFT count"))?;
        }
        if let Some(asset) = cat(row.asset) {
            let balance = self.balance(owner, asset);
            *balance = rest(*balance, "CAT balance")?;
        }
        Ok(())
    }

    /// Appends to the list that an entry belongs to, if any.
    fn list(&mut self, place: &Place, owner: PuzzleHash, entry: Entry<'_>) {
        let Some(list) = List::of(entry.asset, entry.amount, self.dust_below, entry.sent) else { return };
        let account = self.account(owner);
        // sums of u64 amounts of real coins: consensus keeps them far below 2^128
        match list {
            List::XchSent => account.sent += u128::from(entry.amount),
            List::XchReceived => account.received += u128::from(entry.amount),
            _ => {}
        }
        let length = &mut account.lists[list as usize];
        *length += 1;
        let number = *length;
        let item = Item {
            coin: entry.coin,
            at: moment(place),
            amount: entry.amount,
            asset: entry.asset.id,
            party: entry.party,
            memos: entry.memos.items.clone(),
        };
        self.changes.digest += digest::item(owner, list, number, &item);
        self.changes.items.push((owner, list, number, item));
    }

    fn account(&mut self, owner: PuzzleHash) -> &mut Account {
        self.touched.insert(owner);
        self.prior.accounts.entry(owner).or_default()
    }

    fn balance(&mut self, owner: PuzzleHash, asset: AssetId) -> &mut u128 {
        self.touched_balances.insert((owner, asset));
        self.prior.balances.entry((owner, asset)).or_default()
    }
}

fn moment(place: &Place) -> Moment {
    Moment { height: place.block.height, timestamp: place.timestamp }
}

fn cat(asset: Asset) -> Option<Bytes32> {
    asset.id.filter(|_| asset.kind == Kind::Cat)
}

fn out_of_range(place: &Place, owner: PuzzleHash, what: &'static str) -> ProjectionError {
    ProjectionError::OutOfRange { block: place.block, owner, what }
}
