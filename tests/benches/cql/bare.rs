//! The same reads and writes as the store's, with nothing around them: no retries, no breaker, no checks, and rows that
//! are received but not looked at.

use futures::stream::{self, StreamExt};
use mojoscan_address::projection::{Account, Changes, CoinRow, Item, Keys, Moment, Party};
use mojoscan_domain::record::Transaction;
use mojoscan_domain::{Bytes32, Kind, Position, PuzzleHash};
use mojoscan_engines::scylla::CqlConfig;
use scylla::SerializeValue;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::serialize::row::SerializeRow;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::value::{CqlVarint, MaybeUnset};
use std::collections::{BTreeMap, HashMap};

const IN_FLIGHT: usize = 256;
const BATCH_ROWS: usize = 100;
const NUMBERS: u64 = 1 << 14;
const HEIGHTS: u32 = 1 << 15;

type Values = Box<dyn SerializeRow + Send + Sync>;

macro_rules! statements {
    ($($name:ident = $text:literal,)*) => {
        /// A program that knows the driver and the tables.
        pub(crate) struct Bare {
            session: Session,
            $($name: PreparedStatement,)*
        }

        impl Bare {
            pub(crate) async fn connect(config: &CqlConfig) -> Self {
                let session = SessionBuilder::new().known_nodes(&config.cql).build().await.unwrap();
                session.use_keyspace(&config.keyspace, false).await.unwrap();
                Self { $($name: session.prepare($text).await.unwrap(),)* session }
            }
        }
    };
}

statements! {
    find_state = "SELECT checkpoint, rewinding, rewound FROM address_positions WHERE shard = ?",
    find_owner = "SELECT account, account_buckets, nft_buckets FROM address_owners WHERE owner = ? LIMIT 1",
    find_number = "SELECT owner, number, height FROM address_coin_numbers WHERE id = ?",
    find_coin = "SELECT number, id, parent, puzzle_hash, amount, kind, asset, sender, memo, created, spent \
        FROM address_coins WHERE owner = ? AND bucket = ? AND number = ?",
    find_balances = "SELECT asset, balance, balance_buckets FROM address_owners WHERE owner = ? AND asset IN ?",
    put_account = "UPDATE address_owners SET account = ?, account_buckets = account_buckets + ? WHERE owner = ?",
    put_nft_buckets = "UPDATE address_owners SET nft_buckets = nft_buckets + ? WHERE owner = ?",
    put_balance =
        "UPDATE address_owners SET balance = ?, balance_buckets = balance_buckets + ? WHERE owner = ? AND asset = ?",
    put_account_at = "INSERT INTO address_accounts (owner, bucket, height, account) VALUES (?, ?, ?, ?)",
    put_balance_at = "INSERT INTO address_balances (owner, asset, bucket, height, balance) VALUES (?, ?, ?, ?, ?)",
    put_coin = "INSERT INTO address_coins (owner, bucket, number, id, parent, puzzle_hash, amount, kind, asset, \
        sender, memo, created, spent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    put_spent = "UPDATE address_coins SET spent = ? WHERE owner = ? AND bucket = ? AND number = ?",
    put_number = "INSERT INTO address_coin_numbers (id, owner, number, height) VALUES (?, ?, ?, ?)",
    put_item = "INSERT INTO address_items (owner, list, bucket, number, coin, height, timestamp, amount, asset, \
        party, memos) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    put_nft = "INSERT INTO address_nfts (owner, bucket, number, launcher, coin, acquired, lost) \
        VALUES (?, ?, ?, ?, ?, ?, ?)",
    put_lost = "UPDATE address_nfts SET lost = ? WHERE owner = ? AND bucket = ? AND number = ?",
    put_rewound = "INSERT INTO address_positions (shard, rewound) VALUES (?, ?)",
}

#[derive(SerializeValue)]
struct AccountCell {
    xch: CqlVarint,
    dust: CqlVarint,
    received: CqlVarint,
    sent: CqlVarint,
    coins: i64,
    nfts: i64,
    lists: Vec<i64>,
}

#[derive(SerializeValue)]
struct PartyCell {
    owner: Vec<u8>,
    doubt: Option<Vec<u8>>,
    others: Option<Vec<Vec<u8>>>,
}

#[derive(SerializeValue)]
struct EventCell {
    height: i64,
    timestamp: i64,
    transaction: Option<Vec<u8>>,
    kind: Option<i16>,
}

/// A table, and a partition of it.
type Partition = (u8, Vec<u8>, i64);

/// Writes by partition.
#[derive(Default)]
struct Groups<'a>(HashMap<Partition, Vec<(&'a PreparedStatement, Values)>>);

impl<'a> Groups<'a> {
    fn add(
        &mut self,
        table: u8,
        key: Bytes32,
        bucket: i64,
        statement: &'a PreparedStatement,
        values: Values,
    ) {
        self.0.entry((table, bytes(key), bucket)).or_default().push((statement, values));
    }
}

impl Bare {
    pub(crate) async fn read(&self, keys: &Keys) {
        let owners = stream::iter(keys.owners.iter().copied());
        let owners =
            owners.map(|owner| self.ask(&self.find_owner, (bytes(owner),))).buffer_unordered(IN_FLIGHT);
        let coins = stream::iter(keys.coins.iter().copied());
        let coins = coins.map(|(owner, id)| self.coin(owner, id)).buffer_unordered(IN_FLIGHT);
        self.ask(&self.find_state, (0_i64,)).await;
        futures::join!(owners.collect::<()>(), coins.collect::<()>());
        let mut balances: BTreeMap<PuzzleHash, Vec<Vec<u8>>> = BTreeMap::new();
        for (owner, asset) in &keys.balances {
            balances.entry(*owner).or_default().push(bytes(*asset));
        }
        let balances = stream::iter(balances);
        let balances = balances.map(|(owner, assets)| self.ask(&self.find_balances, (bytes(owner), assets)));
        balances.buffer_unordered(IN_FLIGHT).collect::<()>().await;
        self.ask(&self.find_state, (0_i64,)).await;
    }

    async fn coin(&self, owner: PuzzleHash, id: Bytes32) {
        let found = self.session.execute_unpaged(&self.find_number, (bytes(id),)).await.unwrap();
        let found = found.into_rows_result().unwrap();
        let Some((holder, number, _)) = found.maybe_first_row::<(Vec<u8>, i64, i64)>().unwrap() else {
            return;
        };
        if holder == bytes(owner) {
            self.ask(&self.find_coin, (holder, number / signed(NUMBERS), number)).await;
        }
    }

    async fn ask(&self, statement: &PreparedStatement, values: impl SerializeRow) {
        self.session.execute_unpaged(statement, values).await.unwrap().into_rows_result().unwrap();
    }

    pub(crate) async fn write(&self, changes: &Changes, at: Position, to: Position) {
        let above = at.block.map(|block| block.height);
        let timestamp = signed(to.seq);
        self.ask(&self.find_state, (0_i64,)).await;
        let mut rows = Groups::default();
        self.coins(&mut rows, changes, above);
        self.others(&mut rows, changes);
        self.send(rows, timestamp).await;
        let mut heads = Groups::default();
        self.heads(&mut heads, changes, above);
        self.send(heads, timestamp).await;
        let mut position = Groups::default();
        position.add(0, Bytes32::ZERO, 0, &self.put_rewound, Box::new((0_i64, timestamp)));
        self.send(position, timestamp).await;
    }

    fn coins<'a>(&'a self, groups: &mut Groups<'a>, changes: &Changes, above: Option<u32>) {
        for (owner, number, row) in &changes.coins {
            let (key, bucket, place) = (bytes(*owner), signed(number / NUMBERS), signed(*number));
            let spent = row.spent.map(|spend| event(spend.at, Some(spend.transaction)));
            let lost = row.spent.map(|spend| i64::from(spend.at.height));
            if is_new(row, above) {
                let height = i64::from(row.created.height);
                groups.add(
                    1,
                    *owner,
                    bucket,
                    &self.put_coin,
                    Box::new(new_coin(key.clone(), bucket, place, row)),
                );
                let number_row = (bytes(row.id), key.clone(), place, height);
                groups.add(2, row.id, 0, &self.put_number, Box::new(number_row));
                if row.is_kept_nft() {
                    let launcher = bytes(row.asset.id.unwrap());
                    let lost = MaybeUnset::from_option(lost);
                    let nft = (key, bucket, place, launcher, bytes(row.id), height, lost);
                    groups.add(3, *owner, bucket, &self.put_nft, Box::new(nft));
                }
            } else if let Some(spent) = spent {
                groups.add(1, *owner, bucket, &self.put_spent, Box::new((spent, key.clone(), bucket, place)));
                if row.is_kept_nft() {
                    groups.add(3, *owner, bucket, &self.put_lost, Box::new((lost, key, bucket, place)));
                }
            }
        }
    }

    fn others<'a>(&'a self, groups: &mut Groups<'a>, changes: &Changes) {
        for (owner, list, number, item) in &changes.items {
            let bucket = signed(number / NUMBERS);
            let row = new_item(bytes(*owner), *list as i16, bucket, signed(*number), item);
            groups.add(10 + *list as u8, *owner, bucket, &self.put_item, Box::new(row));
        }
        for (owner, height, head) in &changes.accounts {
            let bucket = i64::from(height / HEIGHTS);
            let row = (bytes(*owner), bucket, i64::from(*height), account(head));
            groups.add(4, *owner, bucket, &self.put_account_at, Box::new(row));
        }
        for (owner, asset, height, balance) in &changes.balances {
            let bucket = i64::from(height / HEIGHTS);
            let row = (bytes(*owner), bytes(*asset), bucket, i64::from(*height), varint(*balance));
            // a partition for each asset
            groups.add(5, xor(*owner, *asset), bucket, &self.put_balance_at, Box::new(row));
        }
    }

    fn heads<'a>(&'a self, groups: &mut Groups<'a>, changes: &Changes, above: Option<u32>) {
        let accounts: HashMap<PuzzleHash, (u32, &Account)> =
            changes.accounts.iter().map(|(owner, height, account)| (*owner, (*height, account))).collect();
        for (owner, (height, head)) in accounts {
            let row = ((i64::from(height), account(head)), vec![i64::from(height / HEIGHTS)], bytes(owner));
            groups.add(6, owner, 0, &self.put_account, Box::new(row));
        }
        let balances: HashMap<_, _> = changes
            .balances
            .iter()
            .map(|(owner, asset, height, balance)| ((*owner, *asset), (*height, *balance)))
            .collect();
        for ((owner, asset), (height, balance)) in balances {
            let head = (i64::from(height), varint(balance));
            let row = (head, vec![i64::from(height / HEIGHTS)], bytes(owner), bytes(asset));
            groups.add(6, owner, 0, &self.put_balance, Box::new(row));
        }
        let mut nfts: HashMap<PuzzleHash, Vec<i64>> = HashMap::new();
        for (owner, number, _) in
            changes.coins.iter().filter(|(_, _, row)| is_new(row, above) && row.is_kept_nft())
        {
            nfts.entry(*owner).or_default().push(signed(number / NUMBERS));
        }
        for (owner, buckets) in nfts {
            groups.add(6, owner, 0, &self.put_nft_buckets, Box::new((buckets, bytes(owner))));
        }
    }

    async fn send(&self, groups: Groups<'_>, timestamp: i64) {
        let mut batches = vec![];
        for group in groups.0.into_values() {
            let mut group = group.into_iter().peekable();
            while group.peek().is_some() {
                let mut batch = Batch::new(BatchType::Unlogged);
                batch.set_timestamp(Some(timestamp));
                let mut values = vec![];
                for (statement, row) in group.by_ref().take(BATCH_ROWS) {
                    batch.append_statement(statement.clone());
                    values.push(row);
                }
                batches.push((batch, values));
            }
        }
        let send = |(batch, values): (Batch, Vec<Values>)| async move {
            self.session.batch(&batch, &values).await.unwrap();
        };
        stream::iter(batches).map(send).buffer_unordered(IN_FLIGHT).collect::<()>().await;
    }
}

fn new_coin(owner: Vec<u8>, bucket: i64, number: i64, row: &CoinRow) -> impl SerializeRow + use<> {
    (
        owner,
        bucket,
        number,
        bytes(row.id),
        bytes(row.parent),
        bytes(row.puzzle_hash),
        varint(row.amount.into()),
        Kind::ALL.iter().position(|kind| *kind == row.asset.kind).unwrap() as i16,
        MaybeUnset::from_option(row.asset.id.map(bytes)),
        MaybeUnset::from_option(row.sender.as_ref().map(party)),
        MaybeUnset::from_option(row.memo.clone()),
        event(row.created, row.transaction),
        MaybeUnset::from_option(row.spent.map(|spend| event(spend.at, Some(spend.transaction)))),
    )
}

fn new_item(owner: Vec<u8>, list: i16, bucket: i64, number: i64, item: &Item) -> impl SerializeRow + use<> {
    (
        owner,
        list,
        bucket,
        number,
        bytes(item.coin),
        i64::from(item.at.height),
        signed(item.at.timestamp),
        varint(item.amount.into()),
        MaybeUnset::from_option(item.asset.map(bytes)),
        MaybeUnset::from_option(item.party.as_ref().map(party)),
        item.memos.clone(),
    )
}

fn account(account: &Account) -> AccountCell {
    AccountCell {
        xch: varint(account.xch),
        dust: varint(account.dust),
        received: varint(account.received),
        sent: varint(account.sent),
        coins: signed(account.coins),
        nfts: signed(account.nfts),
        lists: account.lists.map(signed).to_vec(),
    }
}

fn party(party: &Party) -> PartyCell {
    PartyCell {
        owner: bytes(party.owner),
        doubt: party.doubt.as_ref().map(|doubt| bytes(doubt.coin)),
        others: party.doubt.as_ref().map(|doubt| doubt.others.iter().copied().map(bytes).collect()),
    }
}

fn event(at: Moment, transaction: Option<Transaction>) -> EventCell {
    EventCell {
        height: at.height.into(),
        timestamp: signed(at.timestamp),
        transaction: transaction.map(|transaction| bytes(transaction.id)),
        kind: transaction.map(|transaction| transaction.kind.number().into()),
    }
}

fn is_new(row: &CoinRow, above: Option<u32>) -> bool {
    above.is_none_or(|above| row.created.height > above)
}

fn bytes(bytes: Bytes32) -> Vec<u8> {
    bytes.as_slice().to_vec()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap()
}

fn varint(number: u128) -> CqlVarint {
    CqlVarint::from_signed_bytes_be([[0].as_slice(), &number.to_be_bytes()].concat())
}

fn xor(a: Bytes32, b: Bytes32) -> Bytes32 {
    let (a, b) = (a.to_bytes(), b.to_bytes());
    Bytes32::new(std::array::from_fn(|i| a[i] ^ b[i]))
}
