//! Decoding against bare consensus code: from a FullBlock's bytes to checked records, with owners, assets, memos and
//! transactions, and from the same generator to additions and removals alone. Block by block, in turns, on one core.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark ends where something is not as it should be"
)]

use chia_consensus::additions_and_removals::additions_and_removals;
use chia_consensus::consensus_constants::TEST_CONSTANTS;
use chia_consensus::flags::ConsensusFlags;
use fastrand::Rng;
use mojoscan_chia::builder::{CoinSpend, Draft, Generator, Tip};
use mojoscan_chia::{Block, Limits, decode};
use mojoscan_domain::{Coin, Network};
use mojoscan_tests::bench::{Bench, shortest};
use mojoscan_tests::data;
use mojoscan_tests::wallet::{Lineage, NftState, Pay, Wallet};
use std::hint::black_box;
use std::time::Duration;

/// How often each block is decoded each way.
const ROUNDS: usize = 40;
/// Spends of a built block.
const SPENDS: u32 = 500;

fn main() {
    let mut bench = Bench::new("decode");
    match data::folder() {
        Some(folder) => real(&mut bench, &data::generators(&folder)),
        None => bench.skipped("real", &data::missing().unwrap_or_default()),
    }
    let mut rng = Rng::with_seed(3);
    let mut wallet = Wallet::default();
    let standard = standard(&mut wallet, &mut rng);
    compare(&mut bench, "built standard blocks", &[case(Generator::Plain(standard.clone()))]);
    compare(&mut bench, "built standard blocks, compressed", &[case(Generator::Compressed(standard))]);
    let layered = layered(&mut wallet);
    compare(&mut bench, "built CAT and NFT blocks", &[case(Generator::Plain(layered.clone()))]);
    compare(&mut bench, "built CAT and NFT blocks, compressed", &[case(Generator::Compressed(layered))]);
}

/// Real generators by the kind of block, as their names have them.
const REAL: [(&str, &[&str]); 4] = [
    ("crowded standard blocks", &["block-1ee588dc", "block-b45268ac", "block-c2a8df0d", "block-e5002df2"]),
    ("pool-era blocks", &["block-834752", "block-834760", "block-834761", "block-834766", "block-834768"]),
    ("CAT and NFT blocks", &["mixed-0"]),
    ("compressed blocks", &["block-225758", "block-4671894", "block-834752-compressed"]),
];

fn real(bench: &mut Bench, generators: &[data::Generator]) {
    for (kind, names) in REAL {
        let cases: Vec<Case> = names
            .iter()
            .map(|name| {
                let generator = generators.iter().find(|generator| generator.name == *name).unwrap();
                let references = (0..).zip(generator.references.clone()).collect();
                case(Generator::Program { program: generator.program.clone(), references })
            })
            .collect();
        compare(bench, kind, &cases);
    }
}

/// A FullBlock, and what its generator refers to.
struct Case {
    bytes: Vec<u8>,
    generator: Vec<u8>,
    references: Vec<Vec<u8>>,
    coins: usize,
}

/// A FullBlock around a generator, with valid roots, above a block that paid rewards.
fn case(generator: Generator) -> Case {
    let references = match &generator {
        Generator::Program { references, .. } => references.iter().map(|(_, older)| older.clone()).collect(),
        _ => vec![],
    };
    let (_, tip) = Tip::genesis(Network::Simulator0).extend(&Draft::default()).unwrap();
    let (block, _) = tip.extend(&Draft { generator, ..Draft::default() }).unwrap();
    let events = decode(&block, &references, Limits::default()).unwrap().events;
    Case {
        bytes: block.to_bytes().unwrap(),
        generator: block.generator().unwrap().to_vec(),
        references,
        coins: events.created.len() + events.spent.len(),
    }
}

fn compare(bench: &mut Bench, kind: &str, cases: &[Case]) {
    let (mut ours, mut bare) = (Duration::ZERO, Duration::ZERO);
    for case in cases {
        let times = shortest(ROUNDS, || complete(case), || consensus(case));
        ours += times.0;
        bare += times.1;
    }
    let coins: usize = cases.iter().map(|case| case.coins).sum();
    let against = format!("additions_and_removals, {:.0} coins/s", coins as f64 / bare.as_secs_f64());
    let speed = coins as f64 / ours.as_secs_f64();
    bench.ratio(kind, speed, "coins/s", bare.as_secs_f64() / ours.as_secs_f64(), &against);
}

fn complete(case: &Case) {
    let block = Block::from_bytes(&case.bytes).unwrap();
    let decoded = decode(&block, &case.references, Limits::default()).unwrap();
    black_box(decoded.events.into_coin_events());
}

fn consensus(case: &Case) {
    let flags = ConsensusFlags::DONT_VALIDATE_SIGNATURE;
    black_box(additions_and_removals(&case.generator, &case.references, flags, &TEST_CONSTANTS).unwrap());
}

/// Standard spends, each with a payment and its change.
fn standard(wallet: &mut Wallet, rng: &mut Rng) -> Vec<CoinSpend> {
    (0..SPENDS)
        .map(|owner| {
            let coin = coin(wallet.p2_hash(owner), rng.u64(1_000..1 << 40), owner);
            let (to, change) = (wallet.p2_hash(owner + 1), wallet.p2_hash(owner));
            let pays = [Pay::hinted(to, coin.amount / 3), Pay::plain(change, coin.amount / 2)];
            wallet.pay(coin, owner, &pays)
        })
        .collect()
}

/// CATs that are paid on, and NFTs that change owner.
fn layered(wallet: &mut Wallet) -> Vec<CoinSpend> {
    (0..SPENDS / 5).flat_map(|owner| [cat(wallet, owner), nft(wallet, owner)]).collect()
}

fn cat(wallet: &mut Wallet, owner: u32) -> CoinSpend {
    let tail = wallet.tail(owner % 7, &[]);
    let asset = wallet.hash(tail);
    let own = wallet.p2_hash(owner);
    let lineage = Lineage { parent: coin(own, 1, owner).id(), inner: Some(own), amount: 5_000 };
    let full = wallet.cat_hash(asset, own);
    let parent = Coin { parent: lineage.parent, puzzle_hash: full, amount: lineage.amount };
    let spent = Coin { parent: parent.id(), puzzle_hash: full, amount: 5_000 };
    let to = wallet.p2_hash(owner + 1);
    let inner = wallet.p2_pays(owner, &[Pay::hinted(to, 2_000), Pay::hinted(own, 3_000)]);
    wallet.spend_cat(spent, asset, inner, Some(lineage), 0)
}

fn nft(wallet: &mut Wallet, owner: u32) -> CoinSpend {
    let own = wallet.p2_hash(owner);
    let state = NftState { launcher: coin(own, 1, owner + 10_000).id(), uris: 2, did: None };
    let p2 = wallet.p2(owner);
    let layers = wallet.nft(&state, p2);
    let lineage = Lineage { parent: coin(own, 3, owner).id(), inner: Some(wallet.hash(layers)), amount: 1 };
    let puzzle = wallet.singleton(state.launcher, layers);
    let full = wallet.hash(puzzle);
    let parent = Coin { parent: lineage.parent, puzzle_hash: full, amount: 1 };
    let spent = Coin { parent: parent.id(), puzzle_hash: full, amount: 1 };
    let to = wallet.p2_hash(owner + 1);
    let paid = wallet.p2_pays(owner, &[Pay::hinted(to, 1)]);
    let inner = wallet.nft_with(&state, paid);
    wallet.spend_singleton(spent, state.launcher, inner, &lineage)
}

/// A coin whose parent is only a number.
fn coin(puzzle_hash: mojoscan_domain::PuzzleHash, amount: u64, number: u32) -> Coin {
    let mut parent = [0xc0; 32];
    parent[..4].copy_from_slice(&number.to_be_bytes());
    Coin { parent: parent.into(), puzzle_hash, amount }
}
