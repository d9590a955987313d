//! The whole road: from a recording through ingestor, log and address projection to committed rows, as `standalone`
//! runs it. And each part of it alone, to see where the time goes: the time on processors, of all threads together.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark ends where something is not as it should be"
)]

mod town;

use mojoscan::{Standalone, StandaloneConfig};
use mojoscan_address::projection::{AddressProjection, Changes};
use mojoscan_address::store::embedded::EmbeddedAddressStore;
use mojoscan_chia::{Block, Limits, decode};
use mojoscan_domain::record::{CoinEvent, Place, Watermark};
use mojoscan_domain::{BlockId, Network, Position};
use mojoscan_engines::embedded::Embedded;
use mojoscan_ingestor::source::recording::Recording;
use mojoscan_pipeline::runner::RunnerOptions;
use mojoscan_pipeline::{BlockSource, Projection, Store};
use mojoscan_runtime::Registry;
use mojoscan_tests::bench::{Bench, cached, processor_time};
use std::path::Path;
use std::time::{Duration, Instant};
use town::Town;

/// Blocks of the recording, and coins spent in each: a busy time on the chain.
const BLOCKS: usize = 150;
const SPENDS: usize = 300;
/// How often everything is done; the shortest times count.
const ROUNDS: usize = 3;
/// As `standalone` has them.
const DUST_BELOW: u64 = 10_000;
const UNDO_DEPTH: u32 = 10_000;
const CACHE: u64 = 128 << 20;

fn main() {
    let mut bench = Bench::new("road");
    let file = cached("road-1.recording", |file| {
        let (mut town, mut blocks) = Town::found(1);
        blocks.extend((0..BLOCKS).map(|_| town.grow(SPENDS, true)));
        town::record(file, blocks);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut best = Times::MAX;
    let mut coins = 0;
    for _ in 0..ROUNDS {
        let (found, times) = runtime.block_on(round(&file));
        coins = found;
        best = best.shortest(times);
    }
    let speed = |time: Duration| coins as f64 / time.as_secs_f64();
    let whole = best.whole.as_secs_f64();
    bench.figure("decoding alone", speed(best.decode), "coins/s of a processor");
    let ratio = best.decode.as_secs_f64() / whole;
    bench.ratio(
        "recording to committed rows",
        speed(best.whole),
        "coins/s of a processor",
        ratio,
        "decoding alone",
    );
    bench.figure("recording to committed rows, by the clock", speed(best.clock), "coins/s");
    let parts = [
        ("reading the recording", best.read),
        ("decoding", best.decode),
        ("loading prior rows", best.load),
        ("projecting", best.project),
        ("writing rows", best.commit),
    ];
    let known: Duration = parts.iter().map(|(_, time)| *time).sum();
    let rest = ("the rest: checking the recording, the log, tasks", best.whole.saturating_sub(known));
    for (part, time) in parts.into_iter().chain([rest]) {
        let each = time.as_secs_f64() * 1e6 / coins as f64;
        bench.ratio(part, each, "µs a coin", time.as_secs_f64() / whole, "the whole road");
    }
}

/// How long each part took.
#[derive(Clone, Copy)]
struct Times {
    read: Duration,
    decode: Duration,
    load: Duration,
    project: Duration,
    commit: Duration,
    whole: Duration,
    /// The same by the clock, waits for the disk included.
    clock: Duration,
}

impl Times {
    const MAX: Self = Self {
        read: Duration::MAX,
        decode: Duration::MAX,
        load: Duration::MAX,
        project: Duration::MAX,
        commit: Duration::MAX,
        whole: Duration::MAX,
        clock: Duration::MAX,
    };

    fn shortest(self, other: Self) -> Self {
        Self {
            read: self.read.min(other.read),
            decode: self.decode.min(other.decode),
            load: self.load.min(other.load),
            project: self.project.min(other.project),
            commit: self.commit.min(other.commit),
            whole: self.whole.min(other.whole),
            clock: self.clock.min(other.clock),
        }
    }
}

/// Each part alone, then all together. Gives how many coins were created or spent.
async fn round(file: &Path) -> (usize, Times) {
    let mut times = Times { read: Duration::ZERO, ..Times::MAX };
    let recording = Recording::open(file).unwrap();
    let peak = recording.peak().await.unwrap().block;
    let started = processor_time();
    let bytes = recording.blocks(0, peak.height).await.unwrap();
    times.read = processor_time() - started;
    let started = processor_time();
    let blocks: Vec<Events> = bytes.iter().map(|bytes| decoded(bytes)).collect();
    times.decode = processor_time() - started;
    let coins = blocks.iter().map(|block| block.coins.len()).sum();
    drop(bytes);
    (times.load, times.project, times.commit) = projected(blocks).await;
    (times.whole, times.clock) = whole(file, peak).await;
    (coins, times)
}

/// What happened in a block.
struct Events {
    id: BlockId,
    timestamp: u64,
    coins: Vec<CoinEvent>,
}

fn decoded(bytes: &[u8]) -> Events {
    let block = Block::from_bytes(bytes).unwrap();
    let decoded = decode(&block, &[], Limits::default()).unwrap();
    let timestamp = decoded.header.timestamp.unwrap_or_default();
    Events { id: decoded.header.id, timestamp, coins: decoded.events.into_coin_events() }
}

/// Loads, projects and commits, in batches as large as the runner makes them when it is behind.
async fn projected(blocks: Vec<Events>) -> (Duration, Duration, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let embedded = Embedded::open(folder.path(), CACHE).unwrap();
    let network = Network::Simulator0.name();
    let store = EmbeddedAddressStore::open(&embedded, network, DUST_BELOW, UNDO_DEPTH).unwrap();
    let projection = AddressProjection { dust_below: DUST_BELOW };
    let batch_events = RunnerOptions::default().batch_events;
    let peak_height = blocks.last().unwrap().id.height;
    let mut took = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let mut at = Position::START;
    let mut blocks = blocks.into_iter().peekable();
    while let Some(mut block) = blocks.next() {
        let mut events = vec![];
        loop {
            let (id, timestamp) = (block.id, block.timestamp);
            events.extend(
                (0..).zip(block.coins).map(|(index, coin)| (Place { block: id, timestamp, index }, coin)),
            );
            match blocks.next_if(|next| events.len() + next.coins.len() <= batch_events) {
                Some(next) => block = next,
                None => {
                    let watermark =
                        Watermark { block: id, previous: at.block, peak_height, heard_at_ms: None };
                    let to = Position { block: Some(id), seq: at.seq + 1, offset: at.offset + 1, ..at };
                    let started = processor_time();
                    let prior = store.load(0, at, projection.keys(&events)).await.unwrap();
                    let loaded = processor_time();
                    let changes: Changes = projection.project(prior, &events).unwrap();
                    let projected = processor_time();
                    store.commit(0, at, changes, to, watermark).await.unwrap();
                    took.0 += loaded - started;
                    took.1 += projected - loaded;
                    took.2 += processor_time() - projected;
                    at = to;
                    break;
                }
            }
        }
    }
    took
}

/// The whole service, from nothing to the last block.
async fn whole(file: &Path, peak: BlockId) -> (Duration, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let (source, data) = (format!("recording://{}", file.display()), folder.path().display().to_string());
    let arguments =
        ["--source", &source, "--data", &data, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let config = StandaloneConfig::parse(&arguments).unwrap();
    let (started, worked) = (Instant::now(), processor_time());
    let service = Standalone::start(&config, Registry::default()).await.unwrap();
    let mut progress = service.progress.clone();
    let reached = |position: Position| position.block == Some(peak);
    progress.wait_for(|all| all.values().any(|progress| reached(progress.position))).await.unwrap();
    let took = (processor_time() - worked, started.elapsed());
    service.stop().cancel();
    service.run().await.unwrap();
    took
}
