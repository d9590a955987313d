//! Random reorgs: afterwards every row is what a clean rebuild of the final chain has, and before, every answer was
//! what a rebuild of the chain it names has.
//!
//! `MOJOSCAN_SEED` repeats one seed, `MOJOSCAN_SEEDS` says how many are tried.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

use fastrand::Rng;
use mojoscan_address::store::AddressStore;
use mojoscan_chia::builder::{Draft, Generator, Tip};
use mojoscan_domain::Network;
use mojoscan_domain::address::encode_address;
use mojoscan_tests::branch::Branch;
use mojoscan_tests::chain::{Blocks, Chain};
use mojoscan_tests::rebuild::{Rebuilder, Rebuilt, assert_same_rows, assert_same_story, rows_of};
use mojoscan_tests::watcher::Watcher;
use mojoscan_tests::whole::Whole;
use mojoscan_tests::world::{Built, referring};
use mojoscan_tests::{http, seeds};
use serde_json::Value;
use std::path::Path;

/// Deepest reorg.
const DEPTH_MAX: usize = 200;
/// Times the chain changes for one seed.
const CHANGES: usize = 5;
/// Seeds that are tried.
const SEEDS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_after_reorgs_are_those_of_a_rebuild() {
    for seed in seeds::some(SEEDS) {
        reorgs(&mut Rng::with_seed(seed)).await;
    }
}

/// A chain of which one block refers to the generator of an older one. Another salt makes another generator.
fn referring_chain(salt: u8) -> Blocks {
    let (older, later) = (40, 90);
    // no spends: (q . (())), and the same with something that nobody looks at: (a (q . (q . (()))) (q . salt))
    let nothing = [0xff, 0x01, 0xff, 0x80, 0x80];
    let salted = [&[0xff, 2, 0xff, 0xff, 1][..], &nothing, &[0xff, 0xff, 1, salt, 0x80]].concat();
    let mut tip = Tip::genesis(Network::Simulator0);
    (0..100)
        .map(|height| {
            let generator = match height {
                _ if height == older => Generator::Program { program: salted.clone(), references: vec![] },
                _ if height == later => referring(&nothing, &(older, salted.clone())),
                _ => Generator::None,
            };
            let (block, next) = tip.extend(&Draft { generator, ..Draft::default() }).unwrap();
            tip = next;
            Built { id: block.id(), bytes: block.to_bytes().unwrap() }
        })
        .collect()
}

/// The chain changes after a generator was fetched that blocks refer to, and before anything is published.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_generators_are_those_of_the_chain() {
    let [one, other] = [1, 2].map(referring_chain);
    // there are four runs, and the generator
    for requests in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let chain = Chain::new(one.clone());
        chain.set_after(requests, other.clone());
        let whole = Whole::start(&chain, folder.path()).await;
        whole.reach(other.last().unwrap().id).await;
        whole.stop().await;
    }
}

/// One chain after another, in every way in which a chain can change.
async fn reorgs(rng: &mut Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mut rebuilder = Rebuilder::default();
    let length = rng.usize(2..=DEPTH_MAX + 20);
    let mut branches = vec![Branch::of(length, rng)];
    let mut now = branches[0].clone();
    let chain = Chain::new(now.blocks());
    let mut whole = Whole::start(&chain, folder.path()).await;
    whole.reach(now.tip()).await;
    let mut clean = rebuilder.rebuild(now.blocks()).await;
    for _ in 0..CHANGES {
        // back to a chain that was left before, or to a new one
        let before = &branches[rng.usize(..branches.len())];
        let next =
            if rng.u8(..3) == 0 && !now.extends(before) { before.clone() } else { other(&now, 0, rng) };
        let watcher = Watcher::start(whole.addresses.clone(), &rebuilder.owners, rng.fork());
        match rng.u8(..4) {
            0 => {
                watcher.judge(&[&clean]).await;
                whole = restart(whole, &chain, &next, folder.path()).await;
                whole.reach(next.tip()).await;
                clean = rebuilder.rebuild(next.blocks()).await;
            }
            1 => {
                // the chain changes again while it is being read
                let between = other(&now, 1, rng);
                chain.set_after(rng.usize(..3), next.blocks());
                chain.set(between.blocks());
                tokio::select! {
                    () = chain.ends_in(next.tip()) => {}
                    () = whole.reach(between.tip()) => chain.settle(),
                }
                whole.reach(next.tip()).await;
                let cleans =
                    [rebuilder.rebuild(between.blocks()).await, rebuilder.rebuild(next.blocks()).await];
                watcher.judge(&[&clean, &cleans[0], &cleans[1]]).await;
                [_, clean] = cleans;
            }
            _ => {
                chain.set(next.blocks());
                whole.reach(next.tip()).await;
                let new = rebuilder.rebuild(next.blocks()).await;
                watcher.judge(&[&clean, &new]).await;
                clean = new;
            }
        }
        compare(&whole, &clean, &rebuilder, next.length(), rng).await;
        now = next;
        branches.push(now.clone());
    }
    whole.stop().await;
    assert_same_rows(&rows_of(folder.path()), &clean.rows(), "at the end");
}

/// A chain that leaves this one at a random depth; every fourth ends at the same height.
fn other(now: &Branch, depth_min: usize, rng: &mut Rng) -> Branch {
    let depth = match rng.u8(..4) {
        0 => depth_min,
        1 => rng.usize(1..=3),
        _ => rng.usize(1..=DEPTH_MAX),
    };
    let depth = depth.min(now.length());
    let blocks = if rng.u8(..4) == 0 { depth } else { rng.usize(1..=depth + 5) };
    now.fork(depth, blocks.max(1), rng)
}

async fn restart(whole: Whole, chain: &Chain, next: &Branch, data: &Path) -> Whole {
    whole.stop().await;
    chain.set(next.blocks());
    Whole::start(chain, data).await
}

/// Digest, and all that is told of everybody at the tip and at some older heights.
async fn compare(whole: &Whole, clean: &Rebuilt, rebuilder: &Rebuilder, length: usize, rng: &mut Rng) {
    let (position, digest) = whole.addresses.digest(0).await.unwrap();
    let (at, right) = clean.store.digest(0).await.unwrap();
    assert_eq!((position.block, digest), (at.block, right));
    assert_eq!(whole.addresses.recomputed_digest(0).await.unwrap(), (position, digest));
    let tip = u32::try_from(length - 1).unwrap();
    for height in [tip, rng.u32(..=tip), rng.u32(..=tip)] {
        assert_same_story(&whole.addresses, &clean.store, &rebuilder.owners, height, "after a reorg").await;
    }
}

/// The lists of an address: path, name of the list in the answer, flag, cursor.
const LISTS: [(&str, &str, &str, &str); 8] = [
    ("xch-transaction", "send_transactions", "include_send", "send_cursor"),
    ("xch-transaction", "received_transactions", "include_received", "received_cursor"),
    ("xch-transaction", "send_dust_transactions", "include_send_dust", "send_dust_cursor"),
    ("xch-transaction", "received_dust_transactions", "include_received_dust", "received_dust_cursor"),
    ("token-transaction", "send_transactions", "include_send", "send_cursor"),
    ("token-transaction", "received_transactions", "include_received", "received_cursor"),
    ("nft-transaction", "send_transactions", "include_send", "send_cursor"),
    ("nft-transaction", "received_transactions", "include_received", "received_cursor"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_by_cursor_keeps_every_row_below_the_fork() {
    for seed in seeds::some(SEEDS) {
        walks(&mut Rng::with_seed(seed)).await;
    }
}

async fn walks(rng: &mut Rng) {
    let folder = tempfile::tempdir().unwrap();
    let mut rebuilder = Rebuilder::default();
    let length = rng.usize(40..80);
    let first = Branch::of(length, rng);
    rebuilder.rebuild(first.blocks()).await;
    let chain = Chain::new(first.blocks());
    let whole = Whole::start(&chain, folder.path()).await;
    let mut rows = 0;
    for (path, list, flag, cursor) in LISTS {
        for owner in &rebuilder.owners {
            chain.set(first.blocks());
            whole.reach(first.tip()).await;
            let address = encode_address(Network::Simulator0, *owner);
            let url = format!("{}/address/{path}/{address}?{flag}=true&", whole.url);
            let all = page(&format!("{url}count=1000"), list).await.0;
            if all.len() < 4 {
                continue;
            }
            // the fork stands in the midst of the list
            let fork = all[rng.usize(..all.len())].1.min(length - 2);
            let depth = length - 1 - fork;
            let (swap, mut pages) = (rng.usize(1..=all.len() / 2), 0);
            let (mut walked, mut next) = (vec![], None);
            loop {
                let query = next.map_or_else(String::new, |next: u64| format!("&{cursor}={next}"));
                let (items, more) = page(&format!("{url}count=2{query}"), list).await;
                walked.extend(items);
                pages += 1;
                if pages == swap {
                    let blocks = rng.usize(1..=depth + 2);
                    let second = first.fork(depth, blocks, rng);
                    chain.set(second.blocks());
                    whole.reach(second.tip()).await;
                }
                next = more;
                if next.is_none() {
                    break;
                }
            }
            let below = |rows: &[(String, usize)]| -> Vec<String> {
                rows.iter().filter(|(_, height)| *height <= fork).map(|(coin, _)| coin.clone()).collect()
            };
            assert_eq!(below(&walked), below(&all), "{path} {list} of {address}, fork at {fork}");
            rows += all.len();
        }
    }
    assert!(rows > 100, "only {rows} rows were walked");
    whole.stop().await;
}

/// The coins of a page with their heights, and the cursor of the next.
async fn page(url: &str, list: &str) -> (Vec<(String, usize)>, Option<u64>) {
    let answer = http::client().get(url).send().await.unwrap();
    let body: Value = answer.error_for_status().unwrap().json().await.unwrap();
    let body = &body[list];
    let items = body["transactions"].as_array().unwrap().iter().map(|item| {
        let height = usize::try_from(item["height"].as_u64().unwrap()).unwrap();
        (item["coin_id"].as_str().unwrap().to_owned(), height)
    });
    (items.collect(), body["next_cursor"].as_u64())
}
