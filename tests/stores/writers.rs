//! Two writers of one partition, of which one was paused and does not know that it is no longer the one.

use crate::conformance::chain::Block;
use crate::conformance::subject::Calls;
use crate::crashes::{
    COMMIT, Commit, DEEP, REWIND, Stopper, WRITE, assert_readers_are_right, assert_same_rows,
};
use mojoscan_address::store::scylla::ScyllaAddressStore;
use mojoscan_domain::Position;
use mojoscan_pipeline::{Partition, Store, StoreError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

/// The name of the thread of the writer that is paused.
const LATE: &str = "late";
/// Depths of the reorgs that pass while a writer is late.
const DEPTHS: [u32; 3] = [1, 32, 200];
/// Blocks that the chain has before, so that the deepest can pass.
const BLOCKS_MIN: usize = 220;
/// Longest time until the late writer is where it is to pause.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a late writer does.
enum Step {
    Commit(Commit),
    Rewind { partition: Partition, at: Position, to: Position },
}

impl Step {
    async fn run(&self, store: &ScyllaAddressStore) -> Result<(), StoreError> {
        match self {
            Self::Commit(commit) => commit.run(store).await,
            Self::Rewind { partition, at, to } => store.rewind(*partition, *at, *to).await,
        }
    }
}

/// A writer that was paused at a fail point.
struct Late {
    point: &'static str,
    go: mpsc::Sender<()>,
    writer: thread::JoinHandle<Vec<Result<(), StoreError>>>,
}

impl Late {
    /// Starts a writer of its own, and returns once it is paused.
    async fn start(stopper: &Stopper, point: &'static str, steps: Vec<Step>) -> Self {
        let ((tell, paused), (go, wait)) = (mpsc::channel(), mpsc::channel());
        let (met, wait) = (AtomicBool::new(false), Mutex::new(wait));
        let pause = move || {
            if thread::current().name() == Some(LATE) && !met.swap(true, Ordering::Relaxed) {
                tell.send(()).unwrap();
                wait.lock().unwrap().recv().unwrap();
            }
        };
        fail::cfg_callback(point, pause).unwrap();
        let keyspace = crate::Keyspace { config: stopper.keyspace.config.clone() };
        let work = async move {
            let store = keyspace.open(DEEP).await;
            let mut done = vec![];
            for step in steps {
                done.push(step.run(&store).await);
            }
            done
        };
        // on one thread, so that all of it is paused
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let writer =
            thread::Builder::new().name(LATE.to_owned()).spawn(move || runtime.block_on(work)).unwrap();
        spawn_blocking(move || paused.recv_timeout(PATIENCE)).await.unwrap().unwrap();
        Self { point, go, writer }
    }

    /// Lets it go on, to its end.
    async fn finish(self) {
        self.go.send(()).unwrap();
        let done = spawn_blocking(move || self.writer.join().unwrap()).await.unwrap();
        fail::remove(self.point);
        for result in done {
            let fine = matches!(result, Ok(()) | Err(StoreError::Passed));
            assert!(fine, "{}: {result:?}", self.point);
        }
    }
}

/// The commits of blocks, of every partition, as a late writer does them.
fn commits(stopper: &Stopper, blocks: &[Block]) -> Vec<Step> {
    Commit::of(&stopper.subject, blocks).into_iter().map(Step::Commit).collect()
}

/// Makes the chain long enough for the deepest reorg.
async fn lengthen(stopper: &mut Stopper) {
    let missing = BLOCKS_MIN.saturating_sub(stopper.subject.chain.blocks.len());
    stopper.subject.grow(missing, &mut stopper.rng).await;
}

/// The chain leaves its last blocks, if any, and goes on.
async fn go_on(stopper: &mut Stopper, depth: u32) {
    if depth > 0 {
        let height = stopper.subject.chain.tip().unwrap().height - depth;
        stopper.subject.rewind(Calls::Once, Some(height)).await;
    }
    stopper.subject.grow(7, &mut stopper.rng).await;
}

pub(crate) async fn late_commits() {
    let mut stopper = Stopper::new().await;
    for point in [WRITE].into_iter().chain(COMMIT) {
        for depth in [0].into_iter().chain(DEPTHS) {
            lengthen(&mut stopper).await;
            let blocks = stopper.blocks(4);
            let late = Late::start(&stopper, point, commits(&stopper, &blocks)).await;
            // meanwhile another does the same in other batches, and goes on
            assert_readers_are_right(&stopper.subject).await;
            // not where the late one has moved the position already: it would be beyond the first of the batches
            let batch = if point == COMMIT[3] { blocks.len() } else { 3 };
            for run in blocks.chunks(batch) {
                stopper.subject.commit(Calls::Once, run).await;
            }
            go_on(&mut stopper, depth).await;
            stopper.subject.check().await;
            late.finish().await;
            eprintln!("late at {point}, after a reorg of depth {depth}");
            stopper.subject.check().await;
        }
    }
    assert_same_rows(&stopper.subject, &stopper.keyspace).await;
}

pub(crate) async fn late_rewinds() {
    let mut stopper = Stopper::new().await;
    for point in [WRITE].into_iter().chain(REWIND) {
        for depth in DEPTHS {
            lengthen(&mut stopper).await;
            let height = Some(stopper.subject.chain.tip().unwrap().height - 4);
            let steps = stopper.subject.positions.iter().map(|(partition, at)| {
                let to = stopper.subject.rewound(*at, height);
                Step::Rewind { partition: *partition, at: *at, to }
            });
            let late = Late::start(&stopper, point, steps.collect()).await;
            assert_readers_are_right(&stopper.subject).await;
            // another takes over, finishes what was begun, and goes on to another rewind
            for partition in stopper.subject.positions.keys() {
                stopper.subject.store.position(*partition).await.unwrap();
            }
            stopper.subject.rewind(Calls::Once, height).await;
            stopper.subject.check().await;
            stopper.subject.grow(6, &mut stopper.rng).await;
            go_on(&mut stopper, depth).await;
            stopper.subject.check().await;
            late.finish().await;
            eprintln!("late at {point}, after a reorg of depth {depth}");
            stopper.subject.check().await;
        }
    }
    assert_same_rows(&stopper.subject, &stopper.keyspace).await;
}

/// A writer that lags behind another is told that its steps are done, and can go on where the other is.
pub(crate) async fn passed() {
    let mut stopper = Stopper::new().await;
    let slow = stopper.keyspace.open(DEEP).await;
    let before = stopper.subject.positions.clone();
    let blocks = stopper.blocks(3);
    let behind = Commit::of(&stopper.subject, &blocks);
    stopper.subject.commit(Calls::Once, &blocks).await;
    // in the same epoch it may do the step once more
    for commit in &behind {
        commit.run(&slow).await.unwrap();
    }
    stopper.subject.check().await;
    let height = Some(stopper.subject.chain.tip().unwrap().height - 4);
    let rewinds: Vec<_> = stopper.subject.positions.clone().into_iter().collect();
    let tos: Vec<_> = rewinds.iter().map(|(_, at)| stopper.subject.rewound(*at, height)).collect();
    stopper.subject.rewind(Calls::Once, height).await;
    stopper.subject.grow(6, &mut stopper.rng).await;
    for commit in &behind {
        assert_eq!(commit.run(&slow).await, Err(StoreError::Passed));
    }
    for ((partition, at), to) in rewinds.into_iter().zip(tos) {
        slow.rewind(partition, at, to).await.unwrap();
        assert_eq!(slow.position(partition).await.unwrap(), stopper.subject.positions[&partition]);
        assert!(before[&partition].seq < at.seq);
    }
    stopper.subject.check().await;
    // one that takes the store to be further than it is has lost its way
    for commit in Commit::of(&stopper.subject, &blocks) {
        let ahead = Position { seq: commit.at.seq + 1_000, ..commit.at };
        let to = Position { seq: ahead.seq + 1, epoch: ahead.epoch + 1, ..ahead };
        let refused = slow.rewind(commit.partition, ahead, to).await;
        assert!(matches!(refused, Err(StoreError::Broken(_))), "{refused:?}");
    }
    stopper.subject.check().await;
}
