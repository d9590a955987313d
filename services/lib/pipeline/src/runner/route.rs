//! Hands each partition's records to the partition's own task.

use super::apply::Worker;
use super::{Progress, Runner, RunnerError, State};
use crate::{Delivery, LogError, Partition, Projection, RecordLog, Store};
use mojoscan_domain::record::Sequenced;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::info;

pub(super) struct Router<L: RecordLog, P, S> {
    runner: Runner<L, P, S>,
    open: HashMap<Partition, mpsc::Sender<Vec<Sequenced<L::Event>>>>,
    workers: JoinSet<()>,
}

impl<L, P, S> Router<L, P, S>
where
    L: RecordLog<Event = P::Event>,
    P: Projection,
    S: Store<P>,
{
    pub(super) fn new(runner: Runner<L, P, S>) -> Self {
        Self { runner, open: HashMap::new(), workers: JoinSet::new() }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) -> Result<(), RunnerError> {
        let ended = loop {
            let delivery = tokio::select! {
                () = stop.cancelled() => break Ok(()),
                delivery = self.runner.log.next() => delivery,
            };
            match delivery {
                Ok(Delivery::Assigned(partition)) => self.assigned(partition).await?,
                Ok(Delivery::Revoked(partition)) => drop(self.open.remove(&partition)),
                Ok(Delivery::Records(partition, records)) => self.records(partition, records, &stop).await,
                Err(LogError::Ended) => break Ok(()),
                Err(failed @ LogError::Failed(_)) => break Err(RunnerError::Log(failed)),
            }
        };
        // closing the channels lets each worker finish what it has been given
        self.open.clear();
        while self.workers.join_next().await.is_some() {}
        ended
    }

    async fn assigned(&mut self, partition: Partition) -> Result<(), RunnerError> {
        let position = self.runner.store.position(partition).await?;
        info!(topic = self.runner.log.topic(), partition, block = position.block.map(display), "reading partition");
        let progress = Progress { position, watermark: None, state: State::Running };
        self.runner.progress.send_modify(|all| drop(all.insert(partition, progress)));
        let (sender, receiver) = mpsc::channel(self.runner.options.deliveries_max);
        let worker = Worker {
            topic: self.runner.log.topic().to_owned(),
            partition,
            position,
            projection: Arc::clone(&self.runner.projection),
            store: self.runner.store.clone(),
            options: self.runner.options,
            progress: self.runner.progress.clone(),
        };
        self.workers.spawn(worker.run(receiver));
        self.open.insert(partition, sender);
        self.runner.log.seek(partition, position).await?;
        Ok(())
    }

    async fn records(
        &mut self,
        partition: Partition,
        records: Vec<Sequenced<L::Event>>,
        stop: &CancellationToken,
    ) {
        // records of a partition that was revoked, or has stopped, are dropped
        let Some(sender) = self.open.get(&partition) else { return };
        let sent = tokio::select! {
            () = stop.cancelled() => return,
            sent = sender.send(records) => sent,
        };
        if sent.is_err() {
            self.open.remove(&partition);
        }
    }
}
