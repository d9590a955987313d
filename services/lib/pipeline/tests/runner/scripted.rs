//! A scripted log, a projection that keeps every event, a store that can fail and wait, and a runner over them.

use mojoscan_domain::record::{Place, Record, Rewind, Sequenced, Watermark};
use mojoscan_domain::{BlockId, Bytes32, Position};
use mojoscan_pipeline::runner::{Progress, ProgressMap, Runner, RunnerError, RunnerOptions, State};
use mojoscan_pipeline::{
    Delivery, LogError, Partition, Projection, ProjectionError, RecordLog, Store, StoreError,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Span;

/// Longest wait for a state. Time stands still while anything works.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3_600);
/// An event that cannot have happened.
pub(crate) const IMPOSSIBLE: u32 = 13;
/// A partition that cannot be paused.
pub(crate) const RESTLESS: Partition = 7;

pub(crate) fn block(height: u32) -> BlockId {
    BlockId { height, hash: Bytes32::new([height as u8; 32]) }
}

/// The records of one partition, each linked to the one before.
pub(crate) struct Script {
    partition: Partition,
    pub(crate) at: Position,
}

impl Script {
    pub(crate) const fn new(partition: Partition) -> Self {
        Self { partition, at: Position::START }
    }

    pub(crate) fn record(&mut self, record: Record<u32>) -> Sequenced<u32> {
        self.at.seq += 1;
        self.at.offset = self.at.seq + 100;
        Sequenced { epoch: self.at.epoch, seq: self.at.seq, offset: self.at.offset - 1, record }
    }

    pub(crate) fn event(&mut self, height: u32, value: u32) -> Sequenced<u32> {
        self.record(Record::Event(Place { block: block(height), timestamp: 0, index: value }, value))
    }

    pub(crate) fn watermark(&mut self, height: u32) -> Sequenced<u32> {
        let previous = self.at.block.replace(block(height));
        let watermark = Watermark { block: block(height), previous, peak_height: 99, heard_at_ms: None };
        self.record(Record::Watermark(watermark))
    }

    pub(crate) fn rewind(&mut self, height: u32) -> Sequenced<u32> {
        self.at.epoch += 1;
        self.at.block = Some(block(height));
        self.record(Record::Rewind(Rewind { epoch: self.at.epoch, to: self.at.block }))
    }

    /// A block with one event, and its watermark.
    pub(crate) fn whole(&mut self, height: u32) -> Vec<Sequenced<u32>> {
        vec![self.event(height, height), self.watermark(height)]
    }

    pub(crate) fn delivery(&self, records: Vec<Sequenced<u32>>) -> Given {
        Ok(Delivery::Records(self.partition, records, Span::none()))
    }
}

pub(crate) type Given = Result<Delivery<u32>, LogError>;

/// A log that delivers what the test says. It ends when the test lets go of it.
struct Scripted {
    deliveries: mpsc::UnboundedReceiver<Given>,
    seeks: Arc<Mutex<Vec<(Partition, Position)>>>,
    paused: Arc<Mutex<BTreeSet<Partition>>>,
}

impl RecordLog for Scripted {
    type Event = u32;

    fn topic(&self) -> &'static str {
        "numbers"
    }

    async fn next(&mut self) -> Given {
        self.deliveries.recv().await.unwrap_or(Err(LogError::Ended))
    }

    async fn seek(&mut self, partition: Partition, position: Position) -> Result<(), LogError> {
        self.seeks.lock().unwrap().push((partition, position));
        Ok(())
    }

    fn pause(&mut self, partition: Partition) -> Result<(), LogError> {
        if partition == RESTLESS {
            return Err(LogError::Failed("it cannot be paused".to_owned()));
        }
        assert!(self.paused.lock().unwrap().insert(partition), "paused twice");
        Ok(())
    }

    fn resume(&mut self, partition: Partition) -> Result<(), LogError> {
        assert!(self.paused.lock().unwrap().remove(&partition), "it was not paused");
        Ok(())
    }
}

/// Keeps every event.
pub(crate) struct Everything;

impl Projection for Everything {
    const NAME: &'static str = "everything";

    type Event = u32;
    type Keys = usize;
    type Prior = usize;
    type Changes = Vec<u32>;

    fn keys(&self, events: &[(Place, u32)]) -> usize {
        events.len()
    }

    fn project(&self, prior: usize, events: &[(Place, u32)]) -> Result<Vec<u32>, ProjectionError> {
        assert_eq!(prior, events.len());
        match events.iter().find(|(_, value)| *value == IMPOSSIBLE) {
            None => Ok(events.iter().map(|(_, value)| *value).collect()),
            Some((place, _)) => Err(ProjectionError::UnknownCoin {
                block: place.block,
                coin: Bytes32::ZERO,
                owner: Bytes32::ZERO,
            }),
        }
    }
}

/// A step that was done to a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Commit(Vec<u32>, u32),
    Rewind(u32),
}

impl Step {
    pub(crate) fn values(&self) -> Vec<u32> {
        match self {
            Self::Commit(values, _) => values.clone(),
            Self::Rewind(_) => vec![],
        }
    }
}

/// The steps of each partition, and where it stands.
type Kept = BTreeMap<Partition, (Position, Vec<Step>)>;

/// A store that keeps the steps in memory. It fails, and waits, as the test says.
#[derive(Clone)]
pub(crate) struct Steps {
    pub(crate) kept: Arc<Mutex<Kept>>,
    /// What the next calls answer instead.
    pub(crate) faults: Arc<Mutex<VecDeque<StoreError>>>,
    /// How many writes may begin.
    pub(crate) gate: Arc<Semaphore>,
    /// How many writes have arrived at the gate.
    pub(crate) arrived: watch::Sender<usize>,
}

impl Steps {
    fn fail(&self) -> Result<(), StoreError> {
        self.faults.lock().unwrap().pop_front().map_or(Ok(()), Err)
    }

    async fn write(
        &self,
        partition: Partition,
        at: Position,
        to: Position,
        step: Step,
    ) -> Result<(), StoreError> {
        self.arrived.send_modify(|arrived| *arrived += 1);
        self.gate.acquire().await.unwrap().forget();
        self.fail()?;
        let mut kept = self.kept.lock().unwrap();
        let (position, steps) = kept.entry(partition).or_insert((Position::START, vec![]));
        assert_eq!(*position, at, "two workers write partition {partition}");
        *position = to;
        steps.push(step);
        Ok(())
    }

    pub(crate) fn of(&self, partition: Partition) -> Vec<Step> {
        self.kept.lock().unwrap().get(&partition).map(|(_, steps)| steps.clone()).unwrap_or_default()
    }
}

impl Store<Everything> for Steps {
    async fn position(&self, partition: Partition) -> Result<Position, StoreError> {
        self.fail()?;
        Ok(self.kept.lock().unwrap().get(&partition).map_or(Position::START, |(position, _)| *position))
    }

    async fn load(&self, _partition: Partition, _at: Position, keys: usize) -> Result<usize, StoreError> {
        self.fail()?;
        Ok(keys)
    }

    async fn commit(
        &self,
        partition: Partition,
        at: Position,
        changes: Vec<u32>,
        to: Position,
        watermark: Watermark,
    ) -> Result<(), StoreError> {
        assert_eq!(to.block, Some(watermark.block));
        self.write(partition, at, to, Step::Commit(changes, watermark.block.height)).await
    }

    async fn rewind(&self, partition: Partition, at: Position, to: Position) -> Result<(), StoreError> {
        let height = to.block.map_or(0, |block| block.height);
        self.write(partition, at, to, Step::Rewind(height)).await
    }
}

/// A runner at work.
pub(crate) struct Running {
    pub(crate) deliveries: mpsc::UnboundedSender<Given>,
    pub(crate) seeks: Arc<Mutex<Vec<(Partition, Position)>>>,
    pub(crate) paused: Arc<Mutex<BTreeSet<Partition>>>,
    pub(crate) store: Steps,
    pub(crate) progress: watch::Receiver<ProgressMap>,
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<Result<(), RunnerError>>,
}

/// Lets every write begin.
pub(crate) const OPEN: usize = Semaphore::MAX_PERMITS >> 1;

pub(crate) fn start(options: RunnerOptions, gate: usize, faults: &[StoreError]) -> Running {
    let (deliveries, receiver) = mpsc::unbounded_channel();
    let (seeks, paused) = (Arc::default(), Arc::default());
    let store = Steps {
        kept: Arc::default(),
        faults: Arc::new(Mutex::new(faults.iter().cloned().collect())),
        gate: Arc::new(Semaphore::new(gate)),
        arrived: watch::Sender::default(),
    };
    let log = Scripted { deliveries: receiver, seeks: Arc::clone(&seeks), paused: Arc::clone(&paused) };
    let runner = Runner::new(log, Everything, store.clone(), options);
    let (progress, stop) = (runner.progress(), CancellationToken::new());
    let task = tokio::spawn(runner.run(stop.clone()));
    Running { deliveries, seeks, paused, store, progress, stop, task }
}

impl Running {
    pub(crate) fn give(&self, given: impl IntoIterator<Item = Given>) {
        for delivery in given {
            self.deliveries.send(delivery).unwrap();
        }
    }

    /// Waits until a partition is as it should be.
    pub(crate) async fn until(
        &mut self,
        partition: Partition,
        reached: impl Fn(&Progress) -> bool,
    ) -> Progress {
        let there = self.progress.wait_for(|all| all.get(&partition).is_some_and(&reached));
        let found = tokio::time::timeout(PATIENCE, there).await;
        let found =
            found.unwrap_or_else(|_| panic!("partition {partition} was never as it should be")).unwrap();
        found[&partition].clone()
    }

    pub(crate) async fn at_height(&mut self, partition: Partition, height: u32) {
        self.until(partition, |progress| progress.position.block == Some(block(height))).await;
    }

    pub(crate) async fn stopped(&mut self, partition: Partition) -> String {
        let stopped = self.until(partition, |progress| matches!(progress.state, State::Stopped(_))).await;
        let State::Stopped(reason) = stopped.state else { panic!("{stopped:?}") };
        reason
    }

    /// Waits until this many writes have come as far as the gate.
    pub(crate) async fn writes(&self, count: usize) {
        let mut arrived = self.store.arrived.subscribe();
        tokio::time::timeout(PATIENCE, arrived.wait_for(|arrived| *arrived >= count)).await.unwrap().unwrap();
    }

    /// Ends the log, and waits for the runner.
    pub(crate) async fn end(self) -> (Result<(), RunnerError>, Steps) {
        drop(self.deliveries);
        (tokio::time::timeout(PATIENCE, self.task).await.unwrap().unwrap(), self.store)
    }
}

pub(crate) fn commit(values: &[u32], height: u32) -> Step {
    Step::Commit(values.to_vec(), height)
}
