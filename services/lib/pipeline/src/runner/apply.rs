//! Takes a partition's steps one by one: load, project, commit; or rewind.

use super::assemble::{Assembler, Step};
use super::{Progress, ProgressMap, RunnerOptions, State};
use crate::{Partition, Projection, ProjectionError, Store, StoreError};
use backon::{ExponentialBuilder, Retryable};
use mojoscan_domain::Position;
use mojoscan_domain::record::{Place, Sequenced, Watermark};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tracing::{debug, error, info, warn};

/// Why a partition stopped.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("{0}")]
    Record(#[from] crate::Broken),
    #[error("{0}")]
    Projection(#[from] ProjectionError),
    #[error("the store failed: {0}")]
    Store(#[from] StoreError),
}

/// Works on one partition.
pub(super) struct Worker<P, S> {
    pub(super) topic: String,
    pub(super) partition: Partition,
    pub(super) position: Position,
    pub(super) projection: Arc<P>,
    pub(super) store: S,
    pub(super) options: RunnerOptions,
    pub(super) progress: watch::Sender<ProgressMap>,
}

impl<P: Projection, S: Store<P>> Worker<P, S> {
    pub(super) async fn run(mut self, mut records: mpsc::Receiver<Vec<Sequenced<P::Event>>>) {
        let mut assembler = Assembler::new(self.position, self.options.batch_events);
        while let Some(first) = records.recv().await {
            if let Err(stopped) = self.work(&mut assembler, first, &mut records).await {
                let (topic, partition, offset) = (&self.topic, self.partition, self.position.offset);
                error!(topic, partition, offset, reason = %stopped, "partition stopped");
                self.report(None, State::Stopped(format!("{topic}/{partition}: {stopped}")));
                return;
            }
        }
    }

    /// Takes all that waits, up to a full batch, and applies it.
    async fn work(
        &mut self,
        assembler: &mut Assembler<P::Event>,
        first: Vec<Sequenced<P::Event>>,
        records: &mut mpsc::Receiver<Vec<Sequenced<P::Event>>>,
    ) -> Result<(), Stopped> {
        let mut broken = assembler.push(first);
        while broken.is_ok() && !assembler.is_full() {
            let Ok(more) = records.try_recv() else { break };
            broken = assembler.push(more);
        }
        // what stands before a broken record is sound
        for step in assembler.steps() {
            match step {
                Step::Apply { events, to, watermark } => self.apply(events, to, watermark).await?,
                Step::Rewind { to } => self.rewind(to).await?,
            }
        }
        Ok(broken?)
    }

    async fn apply(
        &mut self,
        events: Vec<(Place, P::Event)>,
        to: Position,
        watermark: Watermark,
    ) -> Result<(), Stopped> {
        let (partition, at, started) = (self.partition, self.position, Instant::now());
        let count = events.len();
        self.attempt(|store, projection| {
            let events = &events;
            async move {
                let prior = store.load(partition, at, projection.keys(events)).await?;
                let changes = projection.project(prior, events)?;
                Ok(store.commit(partition, at, changes, to, watermark).await?)
            }
        })
        .await?;
        self.position = to;
        let elapsed_ms = started.elapsed().as_millis();
        debug!(partition, events = count, height = watermark.block.height, elapsed_ms, "applied");
        self.report(Some(watermark), State::Running);
        Ok(())
    }

    async fn rewind(&mut self, to: Position) -> Result<(), Stopped> {
        let (partition, at, started) = (self.partition, self.position, Instant::now());
        self.attempt(|store, _| async move { Ok(store.rewind(partition, at, to).await?) }).await?;
        self.position = to;
        let elapsed_ms = started.elapsed().as_millis();
        info!(partition, from = at.block.map(display), to = to.block.map(display), epoch = to.epoch, elapsed_ms, "rewound");
        self.report(None, State::Running);
        Ok(())
    }

    /// Repeats while the store is unavailable, within its patience.
    async fn attempt<F>(&self, step: impl Fn(S, Arc<P>) -> F) -> Result<(), Stopped>
    where
        F: Future<Output = Result<(), Stopped>>,
    {
        let backoff = ExponentialBuilder::default()
            .with_jitter()
            .with_max_delay(Duration::from_secs(10))
            .with_total_delay(Some(self.options.store_patience))
            .without_max_times();
        (|| step(self.store.clone(), Arc::clone(&self.projection)))
            .retry(backoff)
            .when(|stopped| matches!(stopped, Stopped::Store(StoreError::Unavailable(_))))
            .notify(|stopped, delay| warn!(partition = self.partition, ?delay, "{stopped}; trying again"))
            .await
    }

    fn report(&self, watermark: Option<Watermark>, state: State) {
        self.progress.send_modify(|all| {
            let position = self.position;
            let progress = all.entry(self.partition).or_insert(Progress {
                position,
                watermark: None,
                state: State::Running,
            });
            progress.position = position;
            progress.watermark = watermark.or(progress.watermark);
            progress.state = state;
        });
    }
}
