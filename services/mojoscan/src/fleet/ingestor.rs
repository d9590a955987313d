//! `ingestor`: from a source of blocks to the topics.

use super::kafka_failure;
use crate::process::{LagConfig, Process, ProcessConfig};
use crate::standalone::{demo, ingest, source_failure};
use mojoscan_domain::Network;
use mojoscan_engines::kafka::{KafkaConfig, KafkaPublisher, Topics};
use mojoscan_ingestor::Following;
use mojoscan_ingestor::source::{self, SourceUrl};
use mojoscan_runtime::exit::Failure;
use mojoscan_runtime::health::Condition;
use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Settings of `ingestor`. Of several, the one that was started last publishes; the others end with exit code 75.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct IngestorConfig {
    /// Where blocks come from, as for `standalone`.
    #[arg(long, env = "MOJOSCAN_SOURCE", value_name = "URL")]
    source: SourceUrl,

    /// The network, as for `standalone`.
    #[arg(long, env = "MOJOSCAN_NETWORK", value_name = "NAME")]
    network: Option<Network>,

    #[command(flatten)]
    lag: LagConfig,

    #[command(flatten)]
    kafka: KafkaConfig,

    #[command(flatten)]
    process: ProcessConfig,
}

impl IngestorConfig {
    /// Whether the settings go together.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.kafka.check().map_err(|error| kafka_failure(&error))
    }
}

pub(crate) async fn run(config: IngestorConfig) -> Result<(), Failure> {
    let mut process = Process::start(&config.process, "mojoscan-ingestor").await?;
    let (source, network) = source::open(&config.source, config.network, demo::RECORDING)
        .await
        .map_err(|error| source_failure(&error))?;
    let topics = Topics::new(network, &config.kafka);
    let publisher =
        KafkaPublisher::open(&config.kafka, &topics).await.map_err(|error| kafka_failure(&error))?;
    let following = ingest(source, network, publisher, &mut process.tasks);
    process.health.add("ingestor", move || condition(*following.borrow(), config.lag));
    process.run(None).await
}

/// Ready once the log is near the source's peak, and the source was heard from lately.
fn condition(following: Option<Following>, lag: LagConfig) -> Condition {
    let Some(following) = following else {
        return Condition::not_ready("nothing was published yet");
    };
    let height = following.published.map(|block| block.height);
    let behind = following.peak_height.saturating_sub(height.unwrap_or(0));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let silence =
        following.heard_at_ms.map_or(Duration::ZERO, |at| now.saturating_sub(Duration::from_millis(at)));
    Condition {
        ready: behind <= lag.lag_max && silence <= lag.silence_max(),
        details: json!({ "height": height, "lag_blocks": behind, "silence_seconds": silence.as_secs() }),
    }
}
