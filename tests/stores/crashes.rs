//! Crashes between the steps of a commit and of a rewind, and in the middle of them.

use crate::address;
use crate::conformance::chain::{Block, owners};
use crate::conformance::model::PROJECTION;
use crate::conformance::subject::{Calls, Subject, read};
use crate::keyspace::Keyspace;
use fastrand::Rng;
use mojoscan_address::store::scylla::ScyllaAddressStore;
use mojoscan_address::store::{AddressStore, AddressView};
use mojoscan_domain::Position;
use mojoscan_domain::record::{CoinEvent, Place, Watermark};
use mojoscan_pipeline::{Partition, Projection, Store, StoreError};
use mojoscan_tests::seeds;

/// A depth that no test reaches.
pub(crate) const DEEP: u32 = 1_000;
/// Every point between the steps of a commit.
pub(crate) const COMMIT: [&str; 4] = [
    "address-cql-commit-journal",
    "address-cql-commit-rows",
    "address-cql-commit-heads",
    "address-cql-commit-position",
];
/// Every point between the steps of a rewind.
pub(crate) const REWIND: [&str; 4] = [
    "address-cql-rewind-position",
    "address-cql-rewind-rows",
    "address-cql-rewind-journal",
    "address-cql-rewind-end",
];
/// Before each batch that is written.
pub(crate) const WRITE: &str = "cql-write";
/// Rounds of crashes at random writes.
const ROUNDS: usize = 15;

/// One commit, ready to be done.
pub(crate) struct Commit {
    pub(crate) partition: Partition,
    pub(crate) at: Position,
    pub(crate) to: Position,
    events: Vec<(Place, CoinEvent)>,
    watermark: Watermark,
}

impl Commit {
    /// The commits of blocks that stand on the position, one for each partition.
    pub(crate) fn of<S: AddressStore>(subject: &Subject<S>, blocks: &[Block]) -> Vec<Self> {
        let commit = |(partition, at): (&Partition, &Position)| {
            let events = subject.events(*partition, blocks);
            let watermark = subject.watermark(*at, blocks);
            // as the subject counts: an event a record, then the watermark, and offsets with gaps
            let records = events.len() as u64 + 1;
            let to = Position {
                epoch: at.epoch,
                block: Some(watermark.block),
                seq: at.seq + records,
                offset: at.offset + records + 3,
            };
            Self { partition: *partition, at: *at, to, events, watermark }
        };
        subject.positions.iter().map(commit).collect()
    }

    /// Does it, as the runner does.
    pub(crate) async fn run(&self, store: &ScyllaAddressStore) -> Result<(), StoreError> {
        let prior = store.load(self.partition, self.at, PROJECTION.keys(&self.events)).await?;
        let changes = PROJECTION.project(prior, &self.events).unwrap();
        store.commit(self.partition, self.at, changes, self.to, self.watermark).await
    }
}

/// A random number generator whose seed is printed.
pub(crate) fn rng() -> Rng {
    Rng::with_seed(seeds::some(1).next().unwrap())
}

/// Every view says what the chain says at the view's height.
pub(crate) async fn assert_readers_are_right(subject: &Subject<ScyllaAddressStore>) {
    for owner in owners() {
        let view = subject.store.view(subject.store.partition_of(owner), None).await.unwrap();
        let expected = subject.expected(view.height());
        assert_eq!(read(&view, owner).await.unwrap(), expected[&owner], "at {:?}", view.position());
        view.finish().await.unwrap();
    }
}

/// Every row is what a store has that has only ever seen the final chain.
pub(crate) async fn assert_same_rows(subject: &Subject<ScyllaAddressStore>, keyspace: &Keyspace) {
    subject.check().await;
    let clean = Keyspace::make(&address()).await;
    let mut rebuilt = Subject::new(clean.open(DEEP).await);
    rebuilt.chain = subject.chain.clone();
    let blocks = rebuilt.chain.blocks.clone();
    for run in blocks.chunks(4) {
        rebuilt.commit(Calls::Once, run).await;
    }
    let (expected, found) = (clean.rows().await, keyspace.rows().await);
    assert!(expected.values().map(|rows| rows.len()).sum::<usize>() > 50, "a store of next to nothing");
    assert_eq!(found, expected);
    clean.drop().await;
}

/// What is put to a store, and stopped.
pub(crate) struct Stopper {
    pub(crate) keyspace: Keyspace,
    pub(crate) subject: Subject<ScyllaAddressStore>,
    pub(crate) rng: Rng,
}

impl Stopper {
    pub(crate) async fn new() -> Self {
        let keyspace = Keyspace::make(&address()).await;
        let mut subject = Subject::new(keyspace.open(DEEP).await);
        let mut rng = rng();
        for blocks in [2, 5, 1] {
            subject.grow(blocks, &mut rng).await;
        }
        Self { keyspace, subject, rng }
    }

    /// Adds blocks to the chain, but not to the store.
    pub(crate) fn blocks(&mut self, count: usize) -> Vec<Block> {
        let first = self.subject.chain.blocks.len();
        for _ in 0..count {
            self.subject.chain.grow(&mut self.rng);
        }
        self.subject.chain.blocks[first..].to_vec()
    }

    /// Stops a commit at a point, opens the store again, and does the commit again.
    async fn stop_commit(&mut self, point: &str, action: &str) {
        let blocks = self.blocks(3);
        fail::cfg(point, action).unwrap();
        let mut stopped = 0;
        for commit in Commit::of(&self.subject, &blocks) {
            stopped += u32::from(is_stopped(commit.run(&self.subject.store).await));
        }
        self.reopen(point, action, stopped).await;
        self.subject.commit(Calls::Once, &blocks).await;
        self.subject.check().await;
    }

    /// The same with a rewind.
    async fn stop_rewind(&mut self, point: &str, action: &str) {
        let tip = self.subject.chain.tip().unwrap().height;
        let height = (tip - self.rng.u32(1..5)).checked_sub(1);
        fail::cfg(point, action).unwrap();
        let mut stopped = 0;
        for (partition, at) in &self.subject.positions {
            let to = self.subject.rewound(*at, height);
            stopped += u32::from(is_stopped(self.subject.store.rewind(*partition, *at, to).await));
        }
        self.reopen(point, action, stopped).await;
        self.subject.rewind(Calls::Once, height).await;
        self.subject.check().await;
    }

    async fn reopen(&mut self, point: &str, action: &str, stopped: u32) {
        fail::remove(point);
        eprintln!("{point} {action}: {stopped} stopped");
        assert!(stopped > 0 || point == WRITE, "{point} was not met");
        assert_readers_are_right(&self.subject).await;
        self.subject.store = self.keyspace.open(DEEP).await;
        assert_readers_are_right(&self.subject).await;
    }
}

fn is_stopped(result: Result<(), StoreError>) -> bool {
    match result {
        Ok(()) => false,
        Err(StoreError::Unavailable(reason)) => {
            assert_eq!(reason, "a test stopped here");
            true
        }
        Err(other) => panic!("{other}"),
    }
}

pub(crate) async fn between_steps() {
    let mut stopper = Stopper::new().await;
    for point in COMMIT {
        stopper.stop_commit(point, "return").await;
    }
    for point in REWIND {
        stopper.stop_rewind(point, "return").await;
        stopper.subject.grow(4, &mut stopper.rng).await;
        stopper.subject.check().await;
    }
    assert_same_rows(&stopper.subject, &stopper.keyspace).await;
}

pub(crate) async fn at_writes() {
    let mut stopper = Stopper::new().await;
    for _ in 0..ROUNDS {
        let writes = stopper.rng.u32(..60);
        let action = if writes == 0 { "return".to_owned() } else { format!("{writes}*off->return") };
        if stopper.rng.u8(..3) == 0 && stopper.subject.chain.blocks.len() > 6 {
            stopper.stop_rewind(WRITE, &action).await;
        } else {
            stopper.stop_commit(WRITE, &action).await;
        }
    }
    assert_same_rows(&stopper.subject, &stopper.keyspace).await;
}
