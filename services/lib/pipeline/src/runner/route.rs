//! Hands each partition's records to the partition's own task.
//!
//! Nothing grows, and nobody waits for another: a partition whose task is busy is paused in the log until there is room,
//! while the log goes on with the others. A partition that was revoked is left at once, as by a crash: its next reader
//! goes on from the position in the store.

use super::apply::{Read, Work, Worker};
use super::metrics::Metrics;
use super::{Progress, Runner, RunnerError, RunnerOptions, State, patience};
use crate::{Delivery, LogError, Partition, Projection, RecordLog, Store, StoreError};
use backon::Retryable;
use mojoscan_domain::Position;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, OwnedPermit};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

pub(super) struct Router<L: RecordLog, P, S> {
    runner: Runner<L, P, S>,
    open: HashMap<Partition, Open<L::Event>>,
    /// Waits for room in the channels of partitions that are paused.
    waiting: JoinSet<Room<L::Event>>,
    /// How often a partition was assigned.
    assigned: u64,
    /// Workers say here that the store stays away.
    lost: mpsc::Sender<StoreError>,
    losses: mpsc::Receiver<StoreError>,
}

/// A partition that is read.
struct Open<E> {
    /// Tells it from the same partition, assigned earlier.
    number: u64,
    sender: mpsc::Sender<Work<E>>,
    /// What it is handed next. The log is paused meanwhile.
    held: Option<Work<E>>,
    worker: JoinHandle<()>,
}

/// There is room in the channel of a partition; none if it has stopped.
struct Room<E> {
    partition: Partition,
    number: u64,
    permit: Option<OwnedPermit<Work<E>>>,
}

impl<L, P, S> Router<L, P, S>
where
    L: RecordLog<Event = P::Event>,
    P: Projection,
    S: Store<P>,
{
    pub(super) fn new(runner: Runner<L, P, S>) -> Self {
        let (lost, losses) = mpsc::channel(1);
        Self { runner, open: HashMap::new(), waiting: JoinSet::new(), assigned: 0, lost, losses }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) -> Result<(), RunnerError> {
        let ended = self.follow(&stop).await;
        // who waits for room in a channel keeps it open
        self.waiting.shutdown().await;
        let away = matches!(ended, Err(RunnerError::Store(StoreError::Unavailable(_))));
        for open in self.open.into_values() {
            if away {
                // what the others have begun cannot be finished either
                open.worker.abort();
            }
            // closing the channel lets the worker finish what it has been given; one that panicked has said so
            drop(open.sender);
            drop(open.worker.await);
        }
        ended
    }

    async fn follow(&mut self, stop: &CancellationToken) -> Result<(), RunnerError> {
        loop {
            let delivery = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                Some(away) = self.losses.recv() => return Err(RunnerError::Store(away)),
                Some(Ok(room)) = self.waiting.join_next() => {
                    self.release(room)?;
                    continue;
                }
                delivery = self.runner.log.next() => delivery,
            };
            match delivery {
                Ok(Delivery::Assigned(partition)) => {
                    match stop.run_until_cancelled(self.assign(partition)).await {
                        None => return Ok(()),
                        Some(assigned) => assigned?,
                    }
                }
                Ok(Delivery::Revoked(partition)) => self.revoke(partition).await,
                Ok(Delivery::Records(partition, records, span)) => {
                    self.hand(partition, Ok(Read { records, span }))?;
                }
                Ok(Delivery::Broken(partition, broken)) => self.hand(partition, Err(broken))?,
                Err(LogError::Ended) => return Ok(()),
                Err(failed @ LogError::Failed(_)) => return Err(RunnerError::Log(failed)),
            }
        }
    }

    async fn assign(&mut self, partition: Partition) -> Result<(), RunnerError> {
        let position = position(self.runner.store.clone(), self.runner.options, partition).await?;
        let topic = self.runner.log.topic();
        info!(topic, partition, block = position.block.map(display), "reading partition");
        let progress = Progress { position, watermark: None, state: State::Running };
        self.runner.progress.send_modify(|all| drop(all.insert(partition, progress)));
        let (sender, receiver) = mpsc::channel(self.runner.options.deliveries_max);
        let worker = Worker {
            topic: topic.to_owned(),
            partition,
            position,
            projection: Arc::clone(&self.runner.projection),
            store: self.runner.store.clone(),
            options: self.runner.options,
            progress: self.runner.progress.clone(),
            metrics: Metrics::new(P::NAME, topic, partition),
            lost: self.lost.clone(),
        };
        self.assigned += 1;
        let (number, worker) = (self.assigned, tokio::spawn(worker.run(receiver)));
        self.open.insert(partition, Open { number, sender, held: None, worker });
        Ok(self.runner.log.seek(partition, position).await?)
    }

    async fn revoke(&mut self, partition: Partition) {
        let Some(open) = self.open.remove(&partition) else { return };
        info!(topic = self.runner.log.topic(), partition, "leaving partition");
        open.worker.abort();
        drop(open.worker.await);
        self.runner.progress.send_modify(|all| drop(all.remove(&partition)));
    }

    fn hand(&mut self, partition: Partition, work: Work<L::Event>) -> Result<(), LogError> {
        // what comes of a partition that was revoked is dropped
        let Some(open) = self.open.get_mut(&partition) else { return Ok(()) };
        match open.sender.try_send(work) {
            // so is what comes of one that has stopped: others may have to wait for the log to go on
            Ok(()) | Err(TrySendError::Closed(_)) => Ok(()),
            Err(TrySendError::Full(work)) => {
                open.held = Some(work);
                let (number, sender) = (open.number, open.sender.clone());
                self.waiting.spawn(async move {
                    Room { partition, number, permit: sender.reserve_owned().await.ok() }
                });
                self.runner.log.pause(partition)
            }
        }
    }

    fn release(&mut self, room: Room<L::Event>) -> Result<(), LogError> {
        let open = self.open.get_mut(&room.partition).filter(|open| open.number == room.number);
        let (Some(open), Some(permit)) = (open, room.permit) else { return Ok(()) };
        if let Some(work) = open.held.take() {
            permit.send(work);
        }
        self.runner.log.resume(room.partition)
    }
}

/// Where a store stands. Asked again while it is unavailable, within its patience.
async fn position<P, S>(
    store: S,
    options: RunnerOptions,
    partition: Partition,
) -> Result<Position, StoreError>
where
    P: Projection,
    S: Store<P>,
{
    (|| store.position(partition))
        .retry(patience(&options))
        .when(|error| matches!(error, StoreError::Unavailable(_)))
        .notify(|error, delay| warn!(partition, ?delay, "{error}; trying again"))
        .await
}
