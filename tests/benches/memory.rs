//! Memory over a long back-fill: the service in a process of its own, from a recording of 100,000 blocks, a third of
//! them with transactions. What it holds is looked at on the way.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark ends where something is not as it should be"
)]

mod town;

use fastrand::Rng;
use mojoscan_domain::address::encode_address;
use mojoscan_domain::{Bytes32, Network};
use mojoscan_tests::bench::{Bench, cached};
use mojoscan_tests::http;
use mojoscan_tests::service::{Service, ServiceOptions};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use town::Town;

/// Blocks of the recording.
const BLOCKS: u32 = 100_000;
/// Most coins spent in one.
const SPENDS_MAX: usize = 4;
/// When it is noted how much is held: percent of the blocks.
const SHARES: [u32; 4] = [25, 50, 75, 100];
/// How often the service is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Longest time for all of it.
const PATIENCE: Duration = Duration::from_secs(600);

fn main() {
    let mut bench = Bench::new("memory");
    let file = cached("memory-1.recording", record);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let started = Instant::now();
    let found = runtime.block_on(watch(&file));
    let speed = f64::from(BLOCKS) / started.elapsed().as_secs_f64();
    bench.figure("speed of a back-fill of 100,000 light blocks", speed, "blocks/s");
    let half = found.held[SHARES.iter().position(|share| *share == 50).unwrap()];
    for (share, held) in SHARES.into_iter().zip(found.held) {
        let what = format!("held at {share} % of 100,000 blocks");
        bench.ratio(&what, held, "MiB", held / half, "what was held at 50 %");
    }
    bench.figure("most held over 100,000 blocks", found.most, "MiB");
}

fn record(file: &Path) {
    let mut rng = Rng::with_seed(5);
    let (mut town, blocks) = Town::found(5);
    let begun = u32::try_from(blocks.len()).unwrap();
    let rest = (begun..BLOCKS).map(|_| {
        let transaction = rng.u8(..100) < 35;
        let spends = if transaction { rng.usize(..=SPENDS_MAX) } else { 0 };
        town.grow(spends, transaction)
    });
    town::record(file, blocks.into_iter().chain(rest));
}

/// Memory that was resident, in MiB.
struct Held {
    /// At each of the shares.
    held: [f64; SHARES.len()],
    most: f64,
}

async fn watch(file: &Path) -> Held {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&ServiceOptions {
        program: env!("CARGO_BIN_EXE_mojoscan-service").into(),
        source: format!("recording://{}", file.display()),
        network: Network::Simulator0.name().to_owned(),
        data: folder.path().to_owned(),
        failpoints: None,
    });
    let mut noted = vec![];
    let (client, started) = (http::client(), Instant::now());
    // what is asked for does not matter: the answer says how far it is
    let nobody = encode_address(Network::Simulator0, Bytes32::ZERO);
    let url = format!("{}/address/xch-balance/{nobody}", service.url);
    let mut looks = tokio::time::interval(LOOK);
    loop {
        looks.tick().await;
        let answer = client.get(&url).send().await.unwrap();
        let height: u32 = answer
            .headers()
            .get("x-as-of-height")
            .map_or(0, |height| height.to_str().unwrap().parse().unwrap());
        let passed = SHARES.iter().filter(|share| height + 1 >= BLOCKS / 100 * *share).count();
        noted.resize_with(passed, || resident(service.id(), "VmRSS"));
        if let Ok(held) = noted.clone().try_into() {
            return Held { held, most: resident(service.id(), "VmHWM") };
        }
        assert!(started.elapsed() < PATIENCE, "at height {height} after {PATIENCE:?}");
    }
}

fn resident(process: u32, what: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':')).unwrap();
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kib / 1024.0
}
