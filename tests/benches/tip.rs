//! From a new block at the source to an answer over REST that names it: in one process, and through a fleet.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark ends where something is not as it should be"
)]

use fastrand::Rng;
use mojoscan_domain::address::encode_address;
use mojoscan_domain::{BlockId, Bytes32, Network};
use mojoscan_tests::bench::Bench;
use mojoscan_tests::branch::Branch;
use mojoscan_tests::chain::Chain;
use mojoscan_tests::fleet::{self, Fleet, KEYSPACE};
use mojoscan_tests::http;
use mojoscan_tests::node_file::NodeFile;
use mojoscan_tests::whole::Whole;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Blocks of the chain before, and blocks that are timed.
const BEFORE: usize = 100;
const TIMED: usize = 200;
/// Longest time for a block.
const PATIENCE: Duration = Duration::from_secs(30);

fn main() {
    let mut bench = Bench::new("tip");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut rng = Rng::with_seed(1);
    let branch = Branch::of(BEFORE + TIMED, &mut rng);
    runtime.block_on(async {
        let times = standalone(&branch).await;
        report(&mut bench, "one process", &times);
        match fleet::missing() {
            Some(missing) => bench.skipped("fleet", &missing),
            None => {
                let times = through_a_fleet(&branch).await;
                report(&mut bench, "fleet", &times);
            }
        }
    });
}

fn report(bench: &mut Bench, what: &str, times: &[Duration]) {
    let mut times = times.to_vec();
    times.sort_unstable();
    for percent in [50, 99] {
        let at = (times.len() * percent).div_ceil(100) - 1;
        bench.figure(&format!("{what}, block to answer, p{percent}"), times[at].as_secs_f64() * 1e3, "ms");
    }
}

async fn standalone(branch: &Branch) -> Vec<Duration> {
    let (folder, blocks) = (tempfile::tempdir().unwrap(), branch.blocks());
    let chain = Chain::new(blocks[..BEFORE].into());
    let whole = Whole::start(&chain, folder.path()).await;
    visible(&whole.url, blocks[BEFORE - 1].id).await;
    let mut times = vec![];
    for end in BEFORE + 1..=blocks.len() {
        let next = blocks[..end].into();
        let started = Instant::now();
        chain.set(next);
        visible(&whole.url, blocks[end - 1].id).await;
        times.push(started.elapsed());
    }
    whole.stop().await;
    times
}

async fn through_a_fleet(branch: &Branch) -> Vec<Duration> {
    let (folder, blocks) = (tempfile::tempdir().unwrap(), branch.blocks());
    let mut file = NodeFile::new(folder.path(), &blocks[..BEFORE].into());
    let fleet = Fleet::start(Path::new(env!("CARGO_BIN_EXE_mojoscan-service")), file.source()).await;
    let _ingestor = fleet.ingestor().up().unwrap();
    let address = fleet.address(KEYSPACE, 0).up().unwrap();
    let settings = folder.path().join("gateway.toml");
    fs::write(&settings, format!("address_service = \"{}\"\n", address.url)).unwrap();
    let gateway = fleet.gateway(&settings, 0).up().unwrap();
    visible(&gateway.url, blocks[BEFORE - 1].id).await;
    let mut times = vec![];
    for end in BEFORE + 1..=blocks.len() {
        let next = blocks[..end].into();
        file.set(&next);
        let started = Instant::now();
        visible(&gateway.url, blocks[end - 1].id).await;
        times.push(started.elapsed());
    }
    times
}

/// Asks until an answer names the block.
async fn visible(url: &str, block: BlockId) {
    let (client, anybody) = (http::client(), encode_address(Network::Simulator0, Bytes32::ZERO));
    let (url, hash, end) =
        (format!("{url}/address/xch-balance/{anybody}"), block.hash.to_string(), Instant::now() + PATIENCE);
    loop {
        let answer = client.get(&url).send().await.unwrap();
        if answer.headers().get("x-as-of-hash").is_some_and(|named| named.as_bytes() == hash.as_bytes()) {
            return;
        }
        assert!(Instant::now() < end, "block {block} is not visible after {PATIENCE:?}");
    }
}
