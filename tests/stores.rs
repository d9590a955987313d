//! The rows of addresses in a real Apache Cassandra.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

#[path = "stores/buckets.rs"]
mod buckets;
#[path = "../services/address/tests/conformance/mod.rs"]
mod conformance;
#[path = "stores/crashes.rs"]
mod crashes;
#[path = "stores/faults.rs"]
mod faults;
#[path = "stores/keyspace.rs"]
mod keyspace;
#[path = "stores/shards.rs"]
mod shards;
#[path = "stores/writers.rs"]
mod writers;

use conformance::{Make, suite};
use keyspace::Keyspace;
use mojoscan_address::store::scylla::ScyllaAddressStore;
use mojoscan_tests::engines::Cassandra;
use mojoscan_tests::trial::{self, Need};
use std::future::Future;
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use tokio::runtime::Builder;

/// One Cassandra for all tests; each has keyspaces of its own.
static CASSANDRA: OnceLock<Cassandra> = OnceLock::new();
/// Held for writing by tests that set fail points, which every store in the process would meet.
static FAIL_POINTS: RwLock<()> = RwLock::new(());

fn main() {
    let need = Need { name: "cassandra", missing: Cassandra::missing(), in_ci: true };
    trial::run(
        &need,
        &[
            ("it_does_what_every_store_does", || together(conformance())),
            ("rows_are_found_across_buckets", || together(buckets::across())),
            ("shards_of_different_chains_make_no_one_answer", || together(shards::one_chain())),
            ("whatever_is_wrong_is_said_in_one_line_soon", || together(faults::unusable())),
            ("a_login_is_needed_and_used", || together(faults::login())),
            ("a_store_that_pauses_is_waited_for", || together(faults::paused())),
            ("tables_are_made_once_by_however_many", || together(faults::migrations())),
            ("a_crash_between_any_two_steps_is_mended", || alone(crashes::between_steps())),
            ("a_crash_at_any_write_is_mended", || alone(crashes::at_writes())),
            ("a_writer_that_wakes_up_late_changes_nothing", || alone(writers::late_commits())),
            ("a_rewind_that_wakes_up_late_changes_nothing", || alone(writers::late_rewinds())),
            ("a_writer_that_was_passed_is_told", || together(writers::passed())),
        ],
    );
}

/// Runs a test beside others.
fn together(test: impl Future<Output = ()>) {
    let _others = FAIL_POINTS.read().unwrap_or_else(PoisonError::into_inner);
    run(test);
}

/// Runs a test that sets fail points.
fn alone(test: impl Future<Output = ()>) {
    let _alone = FAIL_POINTS.write().unwrap_or_else(PoisonError::into_inner);
    run(test);
}

fn run(test: impl Future<Output = ()>) {
    let runtime = || Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    CASSANDRA.get_or_init(|| runtime().block_on(Cassandra::start()));
    runtime().block_on(test);
}

/// Where the Cassandra takes clients.
fn address() -> String {
    CASSANDRA.get().unwrap().address()
}

/// Makes stores, each in a keyspace of its own.
#[derive(Default)]
struct Keyspaces(Mutex<Vec<Keyspace>>);

impl Make for Keyspaces {
    type Store = ScyllaAddressStore;

    async fn make(&self, undo_depth: u32) -> ScyllaAddressStore {
        let keyspace = Keyspace::make(&address()).await;
        let store = keyspace.open(undo_depth).await;
        self.0.lock().unwrap().push(keyspace);
        store
    }
}

async fn conformance() {
    for (name, case) in suite::<Keyspaces>() {
        eprintln!("{name}");
        let keyspaces = Keyspaces::default();
        case(&keyspaces).await;
        let made = keyspaces.0.into_inner().unwrap();
        for keyspace in made {
            keyspace.drop().await;
        }
    }
}
