//! The address projection on a real Apache Cassandra, and beside it a bare program that does nothing but send the same
//! reads and writes through the driver.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark ends where something is not as it should be"
)]

#[path = "cql/bare.rs"]
mod bare;
mod town;

use bare::Bare;
use mojoscan_address::projection::{AddressProjection, Changes, Keys};
use mojoscan_address::store::scylla::{SCHEMA, ScyllaAddressOptions, ScyllaAddressStore};
use mojoscan_chia::{Block, Limits, decode};
use mojoscan_domain::Position;
use mojoscan_domain::record::{CoinEvent, Place, Watermark};
use mojoscan_engines::scylla::{Copies, Cql, CqlConfig, migrate};
use mojoscan_ingestor::source::recording::Recording;
use mojoscan_pipeline::runner::RunnerOptions;
use mojoscan_pipeline::{BlockSource, Projection, Store};
use mojoscan_tests::bench::{Bench, cached};
use mojoscan_tests::engines::Cassandra;
use std::path::Path;
use std::time::{Duration, Instant};
use town::Town;

/// Blocks of the recording, and coins spent in each: a busy time on the chain.
const BLOCKS: usize = 150;
const SPENDS: usize = 300;
/// How often everything is done, in turns; the shortest times count. The first turn warms up.
const ROUNDS: usize = 4;
const DUST_BELOW: u64 = 10_000;

fn main() {
    let mut bench = Bench::new("cql");
    if let Some(missing) = Cassandra::missing() {
        bench.skipped("address projection", &missing);
        return;
    }
    let file = cached("road-1.recording", |file| {
        let (mut town, mut blocks) = Town::found(1);
        blocks.extend((0..BLOCKS).map(|_| town.grow(SPENDS, true)));
        town::record(file, blocks);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure(&mut bench, &file));
}

/// What one batch asks for and changes.
struct Batch {
    at: Position,
    to: Position,
    watermark: Watermark,
    events: Vec<(Place, CoinEvent)>,
}

async fn measure(bench: &mut Bench, file: &Path) {
    let cassandra = Cassandra::start().await;
    let batches = batches(file).await;
    let coins: usize = batches.iter().map(|batch| batch.events.len()).sum();
    let mut best = (Duration::MAX, Duration::MAX);
    for round in 0..ROUNDS {
        let config = fresh(&cassandra.address(), round, "ours").await;
        let (ours, done) = project(&config, &batches).await;
        let config = fresh(&cassandra.address(), round, "bare").await;
        let bare = Bare::connect(&config).await;
        let started = Instant::now();
        for (batch, (keys, changes)) in batches.iter().zip(&done) {
            bare.read(keys).await;
            bare.write(changes, batch.at, batch.to).await;
        }
        let theirs = started.elapsed();
        eprintln!("round {round}: {ours:?} against {theirs:?}");
        if round > 0 {
            best = (best.0.min(ours), best.1.min(theirs));
        }
    }
    let speed = |time: Duration| coins as f64 / time.as_secs_f64();
    let ratio = best.1.as_secs_f64() / best.0.as_secs_f64();
    bench.figure("bare driver", speed(best.1), "coins/s");
    bench.ratio("address projection", speed(best.0), "coins/s", ratio, "a bare driver's same requests");
}

/// A new keyspace with the tables.
async fn fresh(address: &str, round: usize, whose: &str) -> CqlConfig {
    let mut config = CqlConfig::new(vec![address.to_owned()], &format!("bench_{whose}_{round}"));
    config.cql_timeout_ms = 20_000;
    migrate(&config, Copies::Usual, &[SCHEMA]).await.unwrap();
    config
}

/// Loads, projects and commits. Gives how long that took, and what was read and written.
async fn project(config: &CqlConfig, batches: &[Batch]) -> (Duration, Vec<(Keys, Changes)>) {
    let cql = Cql::connect(config).await.unwrap();
    let options = ScyllaAddressOptions {
        network: "simulator0".to_owned(),
        log: "bench".to_owned(),
        partitions: 1,
        dust_below: DUST_BELOW,
        // as in a back-fill: no block is near the peak, and none is noted in the journal
        undo_depth: 0,
    };
    let store = ScyllaAddressStore::open(&cql, &options).await.unwrap();
    let projection = AddressProjection { dust_below: DUST_BELOW };
    let mut done = vec![];
    let mut took = Duration::ZERO;
    for batch in batches {
        let started = Instant::now();
        let keys = projection.keys(&batch.events);
        let kept = keys.clone();
        let prior = store.load(0, batch.at, keys).await.unwrap();
        let changes = projection.project(prior, &batch.events).unwrap();
        let paused = started.elapsed();
        let copy = changes.clone();
        let started = Instant::now();
        store.commit(0, batch.at, changes, batch.to, batch.watermark).await.unwrap();
        took += paused + started.elapsed();
        done.push((kept, copy));
    }
    (took, done)
}

/// Batches as large as the runner makes them when it is behind.
async fn batches(file: &Path) -> Vec<Batch> {
    let recording = Recording::open(file).unwrap();
    let peak = recording.peak().await.unwrap().block;
    let mut batches: Vec<Batch> = vec![];
    let full = RunnerOptions::default().batch_events;
    for bytes in recording.blocks(0, peak.height).await.unwrap() {
        let block = Block::from_bytes(&bytes).unwrap();
        let decoded = decode(&block, &[], Limits::default()).unwrap();
        let (id, timestamp) = (decoded.header.id, decoded.header.timestamp.unwrap_or_default());
        let coins = decoded.events.into_coin_events();
        let events = (0..).zip(coins).map(|(index, coin)| (Place { block: id, timestamp, index }, coin));
        let mut events: Vec<_> = events.collect();
        let open = batches.pop_if(|batch| batch.events.len() + events.len() <= full);
        let at = match (&open, batches.last()) {
            (Some(open), _) => open.at,
            (None, last) => last.map_or(Position::START, |last| last.to),
        };
        let mut all = open.map(|open| open.events).unwrap_or_default();
        all.append(&mut events);
        let to = Position { block: Some(id), seq: at.seq + 1, offset: at.offset + 1, ..at };
        let watermark =
            Watermark { block: id, previous: at.block, peak_height: peak.height + 1, heard_at_ms: None };
        batches.push(Batch { at, to, watermark, events: all });
    }
    batches
}
