//! `topics ensure`: makes the topics, or checks them.

use super::kafka_failure;
use crate::cli::ConfigFile;
use mojoscan_domain::Network;
use mojoscan_engines::kafka::{KafkaConfig, Topics};
use mojoscan_runtime::exit::{self, Failure};

/// What to do about topics.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum TopicsCommand {
    /// Make the topics that are missing, and check the others. Nothing that is there is altered.
    Ensure(EnsureOptions),
}

/// Which topics.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct EnsureOptions {
    /// The network: mainnet, testnet11 or simulator0.
    #[arg(long, env = "MOJOSCAN_NETWORK", default_value = "mainnet", value_name = "NAME")]
    network: Network,

    /// Brokers that keep each partition, also of topics that are there already. Without, three keep those of a new
    /// topic, or all if there are fewer.
    #[arg(long, env = "MOJOSCAN_KAFKA_REPLICAS", value_name = "COUNT")]
    replicas: Option<u16>,

    #[command(flatten)]
    kafka: KafkaConfig,

    #[command(flatten)]
    file: ConfigFile,
}

pub(crate) async fn run(command: TopicsCommand) -> Result<(), Failure> {
    let TopicsCommand::Ensure(options) = command;
    let topics = Topics::new(options.network, &options.kafka);
    let ensured =
        topics.ensure(&options.kafka, options.replicas).await.map_err(|error| kafka_failure(&error))?;
    for topic in ensured {
        exit::print(&format!("{} {}\n", topic.topic, if topic.made { "made" } else { "is as it must be" }))?;
    }
    Ok(())
}
