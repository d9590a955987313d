//! Rows and cells as CQL knows them.

use crate::projection::{Account, CoinRow, Doubt, Item, List, Moment, Party, Spend};
use mojoscan_domain::record::{Transaction, TransactionType};
use mojoscan_domain::{Asset, Kind};
use mojoscan_engines::scylla::{Amount, Hash, Number, damaged};
use mojoscan_pipeline::StoreError;
use scylla::value::MaybeUnset;
use scylla::{DeserializeRow, DeserializeValue, SerializeRow, SerializeValue};

/// A head.
#[derive(Debug, SerializeValue, DeserializeValue)]
pub(super) struct AccountCell {
    xch: Amount,
    dust: Amount,
    received: Amount,
    sent: Amount,
    coins: Number,
    nfts: Number,
    lists: Vec<Number>,
}

impl From<&Account> for AccountCell {
    fn from(account: &Account) -> Self {
        Self {
            xch: Amount(account.xch),
            dust: Amount(account.dust),
            received: Amount(account.received),
            sent: Amount(account.sent),
            coins: Number(account.coins),
            nfts: Number(account.nfts),
            lists: account.lists.map(Number).to_vec(),
        }
    }
}

impl TryFrom<AccountCell> for Account {
    type Error = StoreError;

    fn try_from(cell: AccountCell) -> Result<Self, StoreError> {
        let lists = <[Number; List::ALL.len()]>::try_from(cell.lists);
        Ok(Self {
            xch: cell.xch.0,
            dust: cell.dust.0,
            received: cell.received.0,
            sent: cell.sent.0,
            coins: cell.coins.0,
            nfts: cell.nfts.0,
            lists: lists.map_err(|_| damaged("a head with another number of lists"))?.map(|length| length.0),
        })
    }
}

/// The other side of a payment.
#[derive(Debug, SerializeValue, DeserializeValue)]
pub(super) struct PartyCell {
    owner: Hash,
    doubt: Option<Hash>,
    others: Option<Vec<Hash>>,
}

impl From<&Party> for PartyCell {
    fn from(party: &Party) -> Self {
        let doubt = party.doubt.as_ref();
        Self {
            owner: Hash(party.owner),
            doubt: doubt.map(|doubt| Hash(doubt.coin)),
            others: doubt.map(|doubt| doubt.others.iter().copied().map(Hash).collect()),
        }
    }
}

impl From<PartyCell> for Party {
    fn from(cell: PartyCell) -> Self {
        let others = cell.others.unwrap_or_default().into_iter().map(|other| other.0).collect();
        Self { owner: cell.owner.0, doubt: cell.doubt.map(|coin| Doubt { coin: coin.0, others }) }
    }
}

/// When something happened, and in which transaction.
#[derive(Debug, SerializeValue, DeserializeValue)]
pub(super) struct EventCell {
    height: Number,
    timestamp: Number,
    transaction: Option<Hash>,
    kind: Option<i16>,
}

impl EventCell {
    fn new(at: Moment, transaction: Option<Transaction>) -> Self {
        Self {
            height: at.height.into(),
            timestamp: Number(at.timestamp),
            transaction: transaction.map(|transaction| Hash(transaction.id)),
            kind: transaction.map(|transaction| transaction.kind.number().into()),
        }
    }

    fn moment(&self) -> Result<Moment, StoreError> {
        Ok(Moment { height: self.height.height()?, timestamp: self.timestamp.0 })
    }

    fn transaction(&self) -> Result<Option<Transaction>, StoreError> {
        let (Some(id), Some(number)) = (self.transaction, self.kind) else { return Ok(None) };
        let kind = u8::try_from(number).ok().and_then(TransactionType::from_number);
        let kind = kind.ok_or_else(|| damaged(format!("{number} is no type of a transaction")))?;
        Ok(Some(Transaction { id: id.0, kind }))
    }
}

impl From<Spend> for EventCell {
    fn from(spend: Spend) -> Self {
        Self::new(spend.at, Some(spend.transaction))
    }
}

/// A coin to be written. What is not there is left alone: a null would be a tombstone.
#[derive(SerializeRow)]
pub(super) struct NewCoin<'a> {
    pub(super) owner: Hash,
    pub(super) bucket: Number,
    pub(super) number: Number,
    id: Hash,
    parent: Hash,
    puzzle_hash: Hash,
    amount: Amount,
    kind: i16,
    asset: MaybeUnset<Hash>,
    sender: MaybeUnset<PartyCell>,
    memo: MaybeUnset<&'a str>,
    created: EventCell,
    spent: MaybeUnset<EventCell>,
}

impl<'a> NewCoin<'a> {
    pub(super) fn new(owner: Hash, bucket: Number, number: u64, row: &'a CoinRow) -> Self {
        Self {
            owner,
            bucket,
            number: Number(number),
            id: Hash(row.id),
            parent: Hash(row.parent),
            puzzle_hash: Hash(row.puzzle_hash),
            amount: Amount(row.amount.into()),
            kind: kind_number(row.asset.kind),
            asset: MaybeUnset::from_option(row.asset.id.map(Hash)),
            sender: MaybeUnset::from_option(row.sender.as_ref().map(PartyCell::from)),
            memo: MaybeUnset::from_option(row.memo.as_deref()),
            created: EventCell::new(row.created, row.transaction),
            spent: MaybeUnset::from_option(row.spent.map(EventCell::from)),
        }
    }
}

/// A coin that was read.
#[derive(DeserializeRow)]
pub(super) struct StoredCoin {
    number: Number,
    id: Hash,
    parent: Hash,
    puzzle_hash: Hash,
    amount: Amount,
    kind: i16,
    asset: Option<Hash>,
    sender: Option<PartyCell>,
    memo: Option<String>,
    created: EventCell,
    spent: Option<EventCell>,
}

impl TryFrom<StoredCoin> for (u64, CoinRow) {
    type Error = StoreError;

    fn try_from(row: StoredCoin) -> Result<Self, StoreError> {
        let spent = match row.spent {
            None => None,
            Some(spent) => {
                let transaction =
                    spent.transaction()?.ok_or_else(|| damaged("a spend without transaction"))?;
                Some(Spend { at: spent.moment()?, transaction })
            }
        };
        let coin = CoinRow {
            id: row.id.0,
            parent: row.parent.0,
            puzzle_hash: row.puzzle_hash.0,
            amount: small(row.amount)?,
            asset: Asset { kind: kind(row.kind)?, id: row.asset.map(|id| id.0) },
            sender: row.sender.map(Party::from),
            memo: row.memo,
            created: row.created.moment()?,
            transaction: row.created.transaction()?,
            spent,
        };
        Ok((row.number.0, coin))
    }
}

/// A list item to be written.
#[derive(SerializeRow)]
pub(super) struct NewItem<'a> {
    owner: Hash,
    list: i16,
    bucket: Number,
    number: Number,
    coin: Hash,
    height: Number,
    timestamp: Number,
    amount: Amount,
    asset: MaybeUnset<Hash>,
    party: MaybeUnset<PartyCell>,
    memos: &'a [Vec<u8>],
}

impl<'a> NewItem<'a> {
    pub(super) fn new(owner: Hash, list: List, bucket: Number, number: u64, item: &'a Item) -> Self {
        Self {
            owner,
            list: list_number(list),
            bucket,
            number: Number(number),
            coin: Hash(item.coin),
            height: item.at.height.into(),
            timestamp: Number(item.at.timestamp),
            amount: Amount(item.amount.into()),
            asset: MaybeUnset::from_option(item.asset.map(Hash)),
            party: MaybeUnset::from_option(item.party.as_ref().map(PartyCell::from)),
            memos: &item.memos,
        }
    }
}

/// A list item that was read.
#[derive(DeserializeRow)]
pub(super) struct StoredItem {
    number: Number,
    coin: Hash,
    height: Number,
    timestamp: Number,
    amount: Amount,
    asset: Option<Hash>,
    party: Option<PartyCell>,
    memos: Option<Vec<Vec<u8>>>,
}

impl TryFrom<StoredItem> for (u64, Item) {
    type Error = StoreError;

    fn try_from(row: StoredItem) -> Result<Self, StoreError> {
        let item = Item {
            coin: row.coin.0,
            at: Moment { height: row.height.height()?, timestamp: row.timestamp.0 },
            amount: small(row.amount)?,
            asset: row.asset.map(|id| id.0),
            party: row.party.map(Party::from),
            memos: row.memos.unwrap_or_default(),
        };
        Ok((row.number.0, item))
    }
}

/// The number of a list.
pub(super) const fn list_number(list: List) -> i16 {
    list as i16
}

/// The list of a number.
pub(super) fn list(number: i16) -> Result<List, StoreError> {
    let found = usize::try_from(number).ok().and_then(|number| List::ALL.get(number).copied());
    found.ok_or_else(|| damaged(format!("{number} is no list")))
}

/// The number of a kind. Fixed for life: never renumber.
const fn kind_number(kind: Kind) -> i16 {
    match kind {
        Kind::Standard => 0,
        Kind::Cat => 1,
        Kind::Nft => 2,
        Kind::Did => 3,
        Kind::Singleton => 4,
        Kind::Settlement => 5,
    }
}

fn kind(number: i16) -> Result<Kind, StoreError> {
    let found = Kind::ALL.into_iter().find(|kind| kind_number(*kind) == number);
    found.ok_or_else(|| damaged(format!("{number} is no kind of a coin")))
}

/// An amount of one coin.
fn small(amount: Amount) -> Result<u64, StoreError> {
    u64::try_from(amount.0).map_err(|_| damaged(format!("a coin of {} mojos", amount.0)))
}
