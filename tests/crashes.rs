//! Whatever moment a crash comes at: after a restart every row is what a run without it has.
//!
//! `MOJOSCAN_SEED` repeats one seed, `MOJOSCAN_SEEDS` says how many are tried.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

use fastrand::Rng;
use mojoscan_address::store::AddressStore;
use mojoscan_domain::BlockId;
use mojoscan_tests::rebuild::{Rebuilder, Rows, assert_same_rows, rows_of};
use mojoscan_tests::service::{Service, ServiceOptions, output};
use mojoscan_tests::{recorded, seeds};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Seeds that are tried.
const SEEDS: usize = 20;
/// Most crashes for one seed.
const CRASHES_MAX: usize = 4;
/// Longest time until a crash.
const LIFE_MAX: Duration = Duration::from_millis(1_500);
/// Every durable step, before and after.
const POINTS: [&str; 8] = [
    "settings-before-commit",
    "settings-after-commit",
    "history-before-commit",
    "history-after-commit",
    "address-commit-before",
    "address-commit-after",
    "address-rewind-before",
    "address-rewind-after",
];

/// A recording with reorgs, and what is right at its end.
struct Recording {
    folder: TempDir,
    source: String,
    tip: BlockId,
    /// What `digest` says.
    digest: String,
    rows: Rows,
}

impl Recording {
    fn new(rng: &mut Rng) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("chain.recording");
        let blocks = recorded::record(&file, 60, 6, rng);
        let tip = blocks.last().unwrap().id;
        let (digest, rows) = runtime().block_on(async {
            let clean = Rebuilder::default().rebuild(blocks).await;
            let (_, digest) = clean.store.digest(0).await.unwrap();
            (digest, clean.rows())
        });
        assert!(rows.len() > 100, "a recording of next to nothing");
        let digest = format!("{} {} {}\n", tip.height, tip.hash, digest.to_bytes32());
        Self { source: format!("recording://{}", file.display()), folder, tip, digest, rows }
    }

    fn options(&self, name: &str) -> ServiceOptions {
        ServiceOptions {
            program: program(),
            source: self.source.clone(),
            network: "simulator0".to_owned(),
            data: self.folder.path().join(name),
            failpoints: None,
        }
    }

    /// Runs to the end, and compares.
    fn finish(&self, options: &ServiceOptions, context: &str) {
        let whole = ServiceOptions { failpoints: None, ..options.clone() };
        let service = Service::start(&whole);
        runtime().block_on(service.reach(self.tip));
        assert!(service.terminate().success());
        assert_eq!(digest(&whole.data), self.digest, "{context}");
        assert_same_rows(&rows_of(&whole.data), &self.rows, context);
        std::fs::remove_dir_all(&whole.data).unwrap();
    }
}

fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_mojoscan-service").into()
}

fn digest(data: &Path) -> String {
    output(&program(), &["digest", "--network", "simulator0", "--rescan", "--data", data.to_str().unwrap()])
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_crash_at_any_durable_step_leaves_no_trace() {
    let seed = seeds::some(1).next().unwrap();
    let mut rng = Rng::with_seed(seed);
    let recording = Recording::new(&mut rng);
    for point in POINTS {
        // settings are written once, and there are six reorgs
        let passes = if point.starts_with("settings") { 1 } else { 6 };
        for pass in [0, rng.usize(..passes)] {
            let context = format!("{point}, pass {pass}");
            let armed = format!("{point}={pass}*off->panic");
            let options = ServiceOptions { failpoints: Some(armed), ..recording.options(point) };
            assert!(!Service::spawn(&options).ended().success(), "{context}: no crash");
            recording.finish(&options, &context);
        }
    }
}

#[test]
fn a_kill_at_any_moment_leaves_no_trace() {
    for seed in seeds::some(SEEDS) {
        let mut rng = Rng::with_seed(seed);
        let recording = Recording::new(&mut rng);
        let options = recording.options("killed");
        for _ in 0..rng.usize(1..=CRASHES_MAX) {
            let service = Service::spawn(&options);
            service.work(LIFE_MAX.mul_f64(rng.f64()));
            service.kill();
        }
        recording.finish(&options, &format!("seed {seed}"));
    }
}

#[test]
fn the_demo_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let options_of = |name: &str| ServiceOptions {
        program: program(),
        source: "demo".to_owned(),
        network: "simulator0".to_owned(),
        data: folder.path().join(name),
        failpoints: None,
    };
    let tip = recorded::demo_tip();
    let finish = |options: &ServiceOptions| {
        let service = Service::start(options);
        runtime().block_on(service.reach(tip));
        assert!(service.terminate().success());
        (digest(&options.data), rows_of(&options.data))
    };
    let (digest, rows) = finish(&options_of("clean"));
    for seed in seeds::some(1) {
        let (options, mut rng) = (options_of("killed"), Rng::with_seed(seed));
        for _ in 0..CRASHES_MAX {
            let service = Service::spawn(&options);
            service.work(LIFE_MAX.mul_f64(rng.f64()));
            service.kill();
        }
        let (again, found) = finish(&options);
        assert_eq!(again, digest);
        assert_same_rows(&found, &rows, "the demo");
    }
}
