//! Takes a partition's steps one by one: load, project, commit; or rewind.

use super::assemble::{Assembler, Planned, Step};
use super::metrics::{Metrics, Phase};
use super::{Progress, ProgressMap, RunnerOptions, State, patience};
use crate::{Broken, Partition, Projection, ProjectionError, Store, StoreError};
use backon::Retryable;
use mojoscan_domain::Position;
use mojoscan_domain::record::{Place, Sequenced, Watermark};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, watch};
use tracing::{Instrument, Span, debug, error, info, info_span, warn};

/// Why a partition stopped.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("{0}")]
    Record(#[from] Broken),
    #[error("{0}")]
    Projection(#[from] ProjectionError),
    #[error("the store failed: {0}")]
    Store(#[from] StoreError),
}

/// Records, and the span that they were read in.
pub(super) struct Read<E> {
    pub(super) records: Vec<Sequenced<E>>,
    pub(super) span: Span,
}

/// The next records of a partition, or why there are none.
pub(super) type Work<E> = Result<Read<E>, Broken>;

/// Works on one partition.
pub(super) struct Worker<P, S> {
    pub(super) topic: String,
    pub(super) partition: Partition,
    pub(super) position: Position,
    pub(super) projection: Arc<P>,
    pub(super) store: S,
    pub(super) options: RunnerOptions,
    pub(super) progress: watch::Sender<ProgressMap>,
    pub(super) metrics: Metrics,
    /// Is told of a store that stays away.
    pub(super) lost: mpsc::Sender<StoreError>,
}

impl<P: Projection, S: Store<P>> Worker<P, S> {
    pub(super) async fn run(mut self, mut records: mpsc::Receiver<Work<P::Event>>) {
        let mut assembler = Assembler::new(self.position, self.options.batch_events);
        while let Some(first) = records.recv().await {
            if let Err(stopped) = self.work(&mut assembler, first, &mut records).await {
                let offset = match &stopped {
                    Stopped::Record(broken) => broken.offset,
                    _ => self.position.offset,
                };
                let (topic, partition) = (&self.topic, self.partition);
                error!(topic, partition, offset, reason = %stopped, "partition stopped");
                self.report(None, State::Stopped(format!("{topic}/{partition}: {stopped}")));
                if let Stopped::Store(away @ StoreError::Unavailable(_)) = stopped {
                    // the first to say so ends the runner
                    drop(self.lost.try_send(away));
                }
                return;
            }
        }
    }

    /// Takes all that waits, up to a full batch, and applies it.
    async fn work(
        &mut self,
        assembler: &mut Assembler<P::Event>,
        first: Work<P::Event>,
        records: &mut mpsc::Receiver<Work<P::Event>>,
    ) -> Result<(), Stopped> {
        let mut broken = first.and_then(|first| assembler.push(first));
        while broken.is_ok() && !assembler.is_full() {
            let Ok(more) = records.try_recv() else { break };
            broken = more.and_then(|more| assembler.push(more));
        }
        // what stands before a broken record is sound
        for Planned { step, cause } in assembler.steps() {
            let span = info_span!(parent: &cause, "step", partition = self.partition);
            match step {
                Step::Apply { events, to, watermark } => {
                    self.apply(events, to, watermark).instrument(span).await?;
                }
                Step::Rewind { to } => self.rewind(to).instrument(span).await?,
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
            let (events, metrics) = (&events, &self.metrics);
            async move {
                let load = store.load(partition, at, projection.keys(events));
                let prior = match metrics.time(Phase::Load, load).await {
                    Err(StoreError::Passed) => return Ok(()),
                    prior => prior?,
                };
                let project = async { projection.project(prior, events) };
                let changes = metrics.time(Phase::Project, project).await?;
                let commit = store.commit(partition, at, changes, to, watermark);
                Ok(metrics.time(Phase::Commit, commit).await?)
            }
        })
        .await?;
        self.position = to;
        self.metrics.applied(count);
        let elapsed_ms = started.elapsed().as_millis();
        debug!(partition, events = count, height = watermark.block.height, elapsed_ms, "applied");
        self.report(Some(watermark), State::Running);
        Ok(())
    }

    async fn rewind(&mut self, to: Position) -> Result<(), Stopped> {
        let (partition, at, started) = (self.partition, self.position, Instant::now());
        let metrics = &self.metrics;
        self.attempt(|store, _| async move {
            Ok(metrics.time(Phase::Rewind, store.rewind(partition, at, to)).await?)
        })
        .await?;
        self.position = to;
        self.metrics.rewound();
        let elapsed_ms = started.elapsed().as_millis();
        info!(
            partition,
            from = at.block.map(display),
            to = to.block.map(display),
            epoch = to.epoch,
            elapsed_ms,
            "rewound"
        );
        self.report(None, State::Running);
        Ok(())
    }

    /// Repeats while the store is unavailable, within its patience.
    async fn attempt<F>(&self, step: impl Fn(S, Arc<P>) -> F) -> Result<(), Stopped>
    where
        F: Future<Output = Result<(), Stopped>>,
    {
        (|| step(self.store.clone(), Arc::clone(&self.projection)))
            .retry(patience(&self.options))
            .when(|stopped| matches!(stopped, Stopped::Store(StoreError::Unavailable(_))))
            .notify(|stopped, delay| {
                self.metrics.retried();
                warn!(partition = self.partition, ?delay, "{stopped}; trying again");
            })
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
