//! What operators watch: how far the source and the log are, how much is published and how long that takes, reorgs, and
//! errors by stage.

use crate::ingestor::IngestError;
use mojoscan_domain::BlockId;
use mojoscan_pipeline::{Peak, PublishBatch};
use opentelemetry::metrics::{Counter, Gauge, Histogram};
use opentelemetry::{KeyValue, global};
use std::time::Duration;

/// Where an error can come from.
const STAGES: [&str; 3] = ["source", "decode", "publish"];

/// Measures an ingestor.
pub(crate) struct Metrics {
    source_height: Gauge<u64>,
    published_height: Gauge<u64>,
    blocks: Counter<u64>,
    events: Counter<u64>,
    reorg_depth: Histogram<u64>,
    errors: Counter<u64>,
    publish_duration: Histogram<f64>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let meter = global::meter("mojoscan");
        let gauge = |name, description| meter.u64_gauge(name).with_description(description).build();
        let counter = |name, description| meter.u64_counter(name).with_description(description).build();
        let metrics = Self {
            source_height: gauge("ingestor_source_height", "Height of the source's peak"),
            published_height: gauge("ingestor_published_height", "Height of the last block published"),
            blocks: counter("ingestor_blocks", "Blocks published"),
            events: counter("ingestor_events", "Events published"),
            reorg_depth: meter
                .u64_histogram("ingestor_reorg_depth")
                .with_description("Published blocks that a reorg made void")
                .with_boundaries(vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 100.0, 1_000.0, 10_000.0])
                .build(),
            errors: counter("ingestor_errors", "Failures, by stage"),
            publish_duration: meter
                .f64_histogram("ingestor_publish_duration")
                .with_unit("s")
                .with_description("Time to publish a batch")
                .with_boundaries(vec![0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 60.0])
                .build(),
        };
        // shown from the beginning, so that the first one is a rise
        for stage in STAGES {
            metrics.errors.add(0, &[KeyValue::new("stage", stage)]);
        }
        metrics
    }

    /// The source's peak was seen.
    pub(crate) fn peak(&self, peak: Peak) {
        self.source_height.record(u64::from(peak.block.height), &[]);
    }

    /// The log is to be rewound.
    pub(crate) fn reorg(&self, from: Option<BlockId>, to: Option<BlockId>) {
        let length = |block: Option<BlockId>| block.map_or(0, |block| u64::from(block.height) + 1);
        self.reorg_depth.record(length(from).saturating_sub(length(to)), &[]);
    }

    /// What a batch adds, to be told once it is published.
    pub(crate) fn size(batch: &PublishBatch) -> (u64, u64) {
        let events: usize = batch.blocks.iter().map(|block| block.coins.len()).sum();
        (batch.blocks.len() as u64, events as u64)
    }

    /// A batch of so many blocks and events was published, and the log ends at this block now.
    pub(crate) fn published(&self, (blocks, events): (u64, u64), took: Duration, at: Option<BlockId>) {
        self.blocks.add(blocks, &[]);
        self.events.add(events, &[]);
        self.publish_duration.record(took.as_secs_f64(), &[]);
        if let Some(block) = at {
            self.published_height.record(u64::from(block.height), &[]);
        }
    }

    /// Something failed, for now or for good.
    pub(crate) fn failed(&self, error: &IngestError) {
        self.errors.add(1, &[KeyValue::new("stage", stage(error))]);
    }
}

const fn stage(error: &IngestError) -> &'static str {
    match error {
        IngestError::Source(_)
        | IngestError::Misplaced { .. }
        | IngestError::Unlinked(_)
        | IngestError::TooDeep { .. } => "source",
        IngestError::Unreadable { .. }
        | IngestError::Invalid { .. }
        | IngestError::OtherNetwork { .. }
        | IngestError::Panicked(_) => "decode",
        IngestError::Publish(_) => "publish",
    }
}
