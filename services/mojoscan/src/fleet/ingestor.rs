//! `ingestor`: from a source of blocks to the topics.

use super::kafka_failure;
use crate::process::{Process, ProcessConfig};
use crate::standalone::{demo, ingest, source_failure};
use mojoscan_domain::Network;
use mojoscan_engines::kafka::{KafkaConfig, KafkaPublisher, Topics};
use mojoscan_ingestor::source::{self, SourceUrl};
use mojoscan_runtime::exit::Failure;

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
    kafka: KafkaConfig,

    #[command(flatten)]
    process: ProcessConfig,
}

pub(crate) async fn run(config: IngestorConfig) -> Result<(), Failure> {
    let mut process = Process::start(&config.process, "mojoscan-ingestor").await?;
    let (source, network) = source::open(&config.source, config.network, demo::RECORDING)
        .await
        .map_err(|error| source_failure(&error))?;
    let topics = Topics::new(network, &config.kafka);
    let publisher = KafkaPublisher::open(&config.kafka, &topics).await.map_err(|error| kafka_failure(&error))?;
    ingest(source, network, publisher, &mut process.tasks);
    process.run(None).await
}
