//! Records as JSON: bytes as lower-case hexadecimal digits, amounts as integers.

use mojoscan_domain::record::{CoinCreated, CoinEvent, CoinSpent, Memos, Output, Sender, Transaction};
use mojoscan_domain::{Asset, Bytes32, Header};
use serde::Serialize;

/// One line.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Line {
    Block(BlockLine),
    Coin(Box<CoinLine>),
}

/// A block.
#[derive(Serialize)]
pub(super) struct BlockLine {
    event: &'static str,
    height: u32,
    header_hash: Hex,
    previous_hash: Hex,
    timestamp: Option<u64>,
    weight: u128,
    total_iterations: u128,
    fees: u64,
    rewards: u128,
    cost: u64,
    created: u32,
    spent: u32,
}

/// A coin that was created or spent.
#[derive(Serialize)]
pub(super) struct CoinLine {
    event: &'static str,
    height: u32,
    header_hash: Hex,
    timestamp: Option<u64>,
    index: u32,
    coin_id: Hex,
    parent_coin: Hex,
    puzzle_hash: Hex,
    amount: u64,
    owner: Hex,
    kind: &'static str,
    asset_id: Option<Hex>,
    passing: bool,
    transaction_id: Option<Hex>,
    transaction_type: Option<&'static str>,
    #[serde(flatten)]
    more: More,
}

/// What only one of the two has.
#[derive(Serialize)]
#[serde(untagged)]
enum More {
    Created {
        #[serde(flatten)]
        memos: MemoFields,
        sender: Option<SenderFields>,
    },
    Spent {
        /// Always empty: a spend does not say what was written on its coin.
        #[serde(flatten)]
        memos: MemoFields,
        conditional: bool,
        puzzle: &'static str,
        tags: Vec<&'static str>,
        outputs: Vec<OutputFields>,
    },
}

#[derive(Serialize)]
struct MemoFields {
    memos: Vec<String>,
    memos_truncated: bool,
}

#[derive(Serialize)]
struct SenderFields {
    coin_id: Hex,
    owner: Hex,
    otherwise: Vec<Hex>,
    doubtful: bool,
}

#[derive(Serialize)]
struct OutputFields {
    coin_id: Hex,
    puzzle_hash: Hex,
    owner: Hex,
    amount: u64,
    kind: &'static str,
    asset_id: Option<Hex>,
    #[serde(flatten)]
    memos: MemoFields,
    passing: bool,
    via: Option<Hex>,
}

/// 32 bytes as hexadecimal digits.
struct Hex(Bytes32);

impl Serialize for Hex {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl Line {
    pub(super) fn block(header: &Header) -> Self {
        Self::Block(BlockLine {
            event: "block",
            height: header.id.height,
            header_hash: Hex(header.id.hash),
            previous_hash: Hex(header.previous_hash),
            timestamp: header.timestamp,
            weight: header.weight,
            total_iterations: header.total_iterations,
            fees: header.fees,
            rewards: header.rewards,
            cost: header.cost,
            created: header.created,
            spent: header.spent,
        })
    }

    pub(super) fn coin(header: &Header, index: u32, event: &CoinEvent) -> Self {
        let line = match event {
            CoinEvent::Created(created) => CoinLine::created(header, index, created),
            CoinEvent::Spent(spent) => CoinLine::spent(header, index, spent),
        };
        Self::Coin(Box::new(line))
    }
}

impl CoinLine {
    fn created(header: &Header, index: u32, created: &CoinCreated) -> Self {
        Self {
            event: "coin_created",
            height: header.id.height,
            header_hash: Hex(header.id.hash),
            timestamp: header.timestamp,
            index,
            coin_id: Hex(created.id),
            parent_coin: Hex(created.coin.parent),
            puzzle_hash: Hex(created.coin.puzzle_hash),
            amount: created.coin.amount,
            owner: Hex(created.owner),
            kind: created.asset.kind.code(),
            asset_id: asset_id(created.asset),
            passing: created.passing,
            transaction_id: created.transaction.map(|transaction| Hex(transaction.id)),
            transaction_type: created.transaction.as_ref().map(type_name),
            more: More::Created {
                memos: memos(&created.memos),
                sender: created.sender.as_ref().map(SenderFields::new),
            },
        }
    }

    fn spent(header: &Header, index: u32, spent: &CoinSpent) -> Self {
        Self {
            event: "coin_spent",
            height: header.id.height,
            header_hash: Hex(header.id.hash),
            timestamp: header.timestamp,
            index,
            coin_id: Hex(spent.id),
            parent_coin: Hex(spent.coin.parent),
            puzzle_hash: Hex(spent.coin.puzzle_hash),
            amount: spent.coin.amount,
            owner: Hex(spent.owner),
            kind: spent.asset.kind.code(),
            asset_id: asset_id(spent.asset),
            passing: spent.passing,
            transaction_id: Some(Hex(spent.transaction.id)),
            transaction_type: Some(type_name(&spent.transaction)),
            more: More::Spent {
                memos: memos(&Memos::default()),
                conditional: spent.conditional,
                puzzle: spent.puzzle.name(),
                tags: spent.tags.iter().map(|tag| tag.name()).collect(),
                outputs: spent.outputs.iter().map(OutputFields::new).collect(),
            },
        }
    }
}

impl SenderFields {
    fn new(sender: &Sender) -> Self {
        Self {
            coin_id: Hex(sender.coin),
            owner: Hex(sender.owner),
            otherwise: sender.otherwise.iter().copied().map(Hex).collect(),
            doubtful: sender.doubtful,
        }
    }
}

impl OutputFields {
    fn new(output: &Output) -> Self {
        Self {
            coin_id: Hex(output.id),
            puzzle_hash: Hex(output.puzzle_hash),
            owner: Hex(output.owner),
            amount: output.amount,
            kind: output.asset.kind.code(),
            asset_id: asset_id(output.asset),
            memos: memos(&output.memos),
            passing: output.passing,
            via: output.via.map(Hex),
        }
    }
}

fn memos(memos: &Memos) -> MemoFields {
    MemoFields { memos: memos.items.iter().map(hex::encode).collect(), memos_truncated: memos.truncated }
}

fn asset_id(asset: Asset) -> Option<Hex> {
    asset.id.map(Hex)
}

fn type_name(transaction: &Transaction) -> &'static str {
    transaction.kind.name()
}
