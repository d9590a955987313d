//! What operators watch: how far behind each partition is, how much a step carries, and how long it takes.

use super::{Progress, ProgressMap, State};
use crate::Partition;
use opentelemetry::metrics::{Counter, Histogram};
use opentelemetry::{KeyValue, global};
use std::future::Future;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// What a partition's time goes into.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    Load,
    Project,
    Commit,
    Rewind,
}

impl Phase {
    const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Project => "project",
            Self::Commit => "commit",
            Self::Rewind => "rewind",
        }
    }
}

/// Measures the steps of one partition.
pub(super) struct Metrics {
    labels: [KeyValue; 3],
    events: Counter<u64>,
    batch_events: Histogram<u64>,
    step_duration: Histogram<f64>,
    rewinds: Counter<u64>,
    retries: Counter<u64>,
}

impl Metrics {
    pub(super) fn new(projection: &'static str, topic: &str, partition: Partition) -> Self {
        let meter = global::meter("mojoscan");
        let counter = |name, description| meter.u64_counter(name).with_description(description).build();
        let metrics = Self {
            labels: labels(projection, topic, partition),
            events: counter("pipeline_events", "Events applied"),
            batch_events: meter
                .u64_histogram("pipeline_batch_events")
                .with_description("Events applied at once")
                .with_boundaries(vec![0.0, 1.0, 16.0, 64.0, 256.0, 1_024.0, 4_096.0, 16_384.0, 65_536.0])
                .build(),
            step_duration: meter
                .f64_histogram("pipeline_step_duration")
                .with_unit("s")
                .with_description("Time of one step: load, project, commit or rewind")
                .with_boundaries(vec![0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 60.0])
                .build(),
            rewinds: counter("pipeline_rewinds", "Rewinds applied"),
            retries: counter("pipeline_retries", "Steps begun again because the store was unavailable"),
        };
        // shown from the beginning, so that the first one is a rise
        metrics.rewinds.add(0, &metrics.labels);
        metrics.retries.add(0, &metrics.labels);
        metrics
    }

    /// A batch of so many events was applied.
    pub(super) fn applied(&self, events: usize) {
        let events = events as u64;
        self.events.add(events, &self.labels);
        self.batch_events.record(events, &self.labels);
    }

    /// A rewind was applied.
    pub(super) fn rewound(&self) {
        self.rewinds.add(1, &self.labels);
    }

    /// A step begins again.
    pub(super) fn retried(&self) {
        self.retries.add(1, &self.labels);
    }

    /// Does a part of a step, and notes how long it takes.
    pub(super) async fn time<T>(&self, phase: Phase, work: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let done = work.await;
        let [projection, topic, partition] = self.labels.clone();
        let labels = [projection, topic, partition, KeyValue::new("step", phase.name())];
        self.step_duration.record(started.elapsed().as_secs_f64(), &labels);
        done
    }
}

/// Shows how far each partition is, as long as the process lives.
pub(super) fn show(projection: &'static str, topic: &str, progress: &watch::Receiver<ProgressMap>) {
    let gauge = |name, unit, description, value: fn(&Progress) -> Option<u64>| {
        let (progress, topic) = (progress.clone(), topic.to_owned());
        global::meter("mojoscan")
            .u64_observable_gauge(name)
            .with_unit(unit)
            .with_description(description)
            .with_callback(move |observer| {
                for (partition, progress) in &*progress.borrow() {
                    if let Some(value) = value(progress) {
                        observer.observe(value, &labels(projection, &topic, *partition));
                    }
                }
            })
            .build();
    };
    gauge("pipeline_height", "", "Height of the last block applied", height);
    gauge(
        "pipeline_lag_blocks",
        "",
        "Blocks between the source's peak and the last block applied",
        lag_blocks,
    );
    gauge(
        "pipeline_watermark_age",
        "s",
        "Time since the chain was heard from, by the last watermark",
        age_seconds,
    );
    gauge("pipeline_stopped", "", "1 where the partition has stopped for good", |progress| {
        Some(u64::from(matches!(progress.state, State::Stopped(_))))
    });
}

fn labels(projection: &'static str, topic: &str, partition: Partition) -> [KeyValue; 3] {
    [
        KeyValue::new("projection", projection),
        KeyValue::new("topic", topic.to_owned()),
        KeyValue::new("partition", i64::from(partition)),
    ]
}

fn height(progress: &Progress) -> Option<u64> {
    progress.position.block.map(|block| u64::from(block.height))
}

fn lag_blocks(progress: &Progress) -> Option<u64> {
    let peak = u64::from(progress.watermark?.peak_height);
    Some(peak.saturating_sub(height(progress).unwrap_or(0)))
}

/// 0 for a recording that was played to its end: nothing more can come.
fn age_seconds(progress: &Progress) -> Option<u64> {
    let Some(heard_at_ms) = progress.watermark?.heard_at_ms else { return Some(0) };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(now.as_secs().saturating_sub(heard_at_ms / 1_000))
}
