//! What every store of addresses must do, on each adapter.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

mod conformance;

use conformance::{DUST_BELOW, Make, suite};
use libtest_mimic::{Arguments, Trial};
use mojoscan_address::projection::Changes;
use mojoscan_address::store::embedded::EmbeddedAddressStore;
use mojoscan_domain::record::Watermark;
use mojoscan_domain::{BlockId, Bytes32, Position};
use mojoscan_engines::embedded::Embedded;
use mojoscan_pipeline::{Store, StoreError};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;
use tokio::runtime;

/// Memory for the block cache of a store.
const CACHE_BYTES: u64 = 8 << 20;
/// Undo depth where it does not matter.
const DEPTH: u32 = 100;

fn main() -> ExitCode {
    let mut trials: Vec<Trial> = suite::<Folders>()
        .into_iter()
        .map(|(name, case)| trial(name, move || block_on(case(&Folders::default()))))
        .collect();
    trials.push(trial("other_settings_are_refused", other_settings_are_refused));
    trials.push(trial("a_commit_elsewhere_is_refused", || block_on(a_commit_elsewhere_is_refused())));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(name: &str, test: impl FnOnce() + Send + 'static) -> Trial {
    let work = move || {
        test();
        Ok(())
    };
    Trial::test(format!("embedded::{name}"), work)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Makes embedded stores, each in a folder of its own.
struct Folders {
    folder: TempDir,
    made: Arc<AtomicU32>,
}

impl Default for Folders {
    fn default() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), made: Arc::default() }
    }
}

impl Make for Folders {
    type Store = EmbeddedAddressStore;

    async fn make(&self, undo_depth: u32) -> EmbeddedAddressStore {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        open(&self.folder.path().join(number.to_string()), "simulator0", DUST_BELOW, undo_depth).unwrap()
    }
}

fn open(folder: &Path, network: &str, dust: u64, depth: u32) -> Result<EmbeddedAddressStore, StoreError> {
    EmbeddedAddressStore::open(&Embedded::open(folder, CACHE_BYTES)?, network, dust, depth)
}

fn other_settings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), "simulator0", DUST_BELOW, DEPTH).unwrap());
    for (network, dust, named) in
        [("mainnet", DUST_BELOW, "mainnet"), ("simulator0", DUST_BELOW + 1, "10001")]
    {
        let Some(StoreError::Broken(reason)) = open(folder.path(), network, dust, DEPTH).err() else {
            panic!("a store of simulator0 was opened for {network} and {dust}");
        };
        assert!(reason.contains("simulator0") && reason.contains(named), "{reason}");
    }
    // the undo depth may change, and one process at a time may have the folder
    let store = open(folder.path(), "simulator0", DUST_BELOW, DEPTH + 1).unwrap();
    let Some(StoreError::Broken(reason)) = open(folder.path(), "simulator0", DUST_BELOW, DEPTH).err() else {
        panic!("the folder was opened twice");
    };
    assert!(reason.contains("another process"), "{reason}");
    drop(store);
}

/// A writer that is not where the store is has lost its way, and must not write.
async fn a_commit_elsewhere_is_refused() {
    let store = Folders::default();
    let store = store.make(DEPTH).await;
    let block = |height| BlockId { height, hash: Bytes32::new([height as u8; 32]) };
    let at = |height| Position { epoch: 0, block: Some(block(height)), seq: u64::from(height), offset: 0 };
    let watermark =
        |height| Watermark { block: block(height), previous: None, peak_height: 9, heard_at_ms: None };
    store.commit(0, Position::START, Changes::default(), at(5), watermark(5)).await.unwrap();
    let elsewhere = [
        store.commit(0, Position::START, Changes::default(), at(6), watermark(6)).await,
        store.commit(0, at(4), Changes::default(), at(6), watermark(6)).await,
        store.rewind(0, at(6), at(3)).await,
    ];
    for refused in elsewhere {
        assert!(matches!(refused, Err(StoreError::Broken(_))), "{refused:?}");
        assert_eq!(store.position(0).await, Ok(at(5)));
    }
}
