//! Carries records from a log through a projection into a store.
//!
//! What flows in: deliveries of a [`RecordLog`]. What flows out: commits and rewinds of a [`Store`], and
//! [`Progress`] for whoever watches. A partition has a task of its own: [`route`] hands it its records, [`assemble`]
//! checks them and cuts them into steps, [`apply`] takes the steps one by one. While a step is applied the next
//! records wait in a bounded channel, so that a partition that lags works in larger batches by itself.
//!
//! A partition that breaks stops at the record that broke it and says so; the others go on. A store that stays away
//! ends the runner: whoever starts it again has it go on once the store is back.

mod apply;
mod assemble;
mod metrics;
mod progress;
mod route;

pub use progress::{Progress, ProgressMap, State};

use crate::{LogError, Projection, RecordLog, Store, StoreError};
use backon::ExponentialBuilder;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How a runner works.
#[derive(Debug, Clone, Copy)]
pub struct RunnerOptions {
    /// Deliveries that may wait for a partition.
    pub deliveries_max: usize,
    /// Events after which a batch is closed, at the next watermark.
    pub batch_events: usize,
    /// How long an unavailable store is asked again before the runner ends.
    pub store_patience: Duration,
}

impl Default for RunnerOptions {
    fn default() -> Self {
        Self { deliveries_max: 2, batch_events: 16_384, store_patience: Duration::from_secs(600) }
    }
}

/// How an unavailable store is asked again.
fn patience(options: &RunnerOptions) -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_jitter()
        .with_max_delay(Duration::from_secs(10))
        .with_total_delay(Some(options.store_patience))
        .without_max_times()
}

/// Why a runner ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunnerError {
    /// The log failed.
    #[error("the record log failed: {0}")]
    Log(#[from] LogError),
    /// The store could not say where it stands, or stayed away.
    #[error("the store failed: {0}")]
    Store(#[from] StoreError),
}

/// Carries the records of one topic into one projection's store.
pub struct Runner<L, P, S> {
    log: L,
    projection: Arc<P>,
    store: S,
    options: RunnerOptions,
    progress: watch::Sender<ProgressMap>,
}

impl<L, P, S> Runner<L, P, S>
where
    L: RecordLog<Event = P::Event>,
    P: Projection,
    S: Store<P>,
{
    /// A runner that has not begun yet.
    pub fn new(log: L, projection: P, store: S, options: RunnerOptions) -> Self {
        Self { log, projection: Arc::new(projection), store, options, progress: watch::Sender::default() }
    }

    /// How far each partition is.
    pub fn progress(&self) -> watch::Receiver<ProgressMap> {
        self.progress.subscribe()
    }

    /// Runs until it is told to stop, or the log ends; finishes the steps it has begun.
    ///
    /// # Errors
    /// [`RunnerError`] if the log fails, or the store cannot say where it stands or stays away.
    pub async fn run(self, stop: CancellationToken) -> Result<(), RunnerError> {
        metrics::show(P::NAME, self.log.topic(), &self.progress());
        route::Router::new(self).run(stop).await
    }
}
