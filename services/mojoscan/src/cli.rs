//! What can be asked for.

use crate::fleet::{address, gateway, ingestor, migrate, replay, topics};
use crate::{decode, digest, record, standalone};
use clap::{Parser, Subcommand};
use mojoscan_runtime::exit::Failure;
use std::path::PathBuf;

/// Exact, reorg-proof data of the Chia blockchain.
#[derive(Debug, Parser)]
#[command(name = "mojoscan", version, propagate_version = true, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run everything in one process, on an embedded store.
    Standalone(standalone::StandaloneConfig),
    /// Follow the chain, and publish what happens to coins. A process of the fleet.
    Ingestor(ingestor::IngestorConfig),
    /// Keep the rows of addresses, and answer from them over gRPC. A process of the fleet.
    Address(address::AddressConfig),
    /// Answer the public over REST. A process of the fleet.
    Gateway(gateway::GatewayProcessConfig),
    /// Look after the topics of the record log.
    #[command(subcommand)]
    Topics(topics::TopicsCommand),
    /// Make the keyspace and its tables, or bring them up to date. Safe to repeat, also by two at once.
    Migrate(migrate::MigrateOptions),
    /// Rebuild the rows of addresses from the log into another keyspace, beside the live one, and compare the two.
    Replay(replay::ReplayConfig),
    /// Decode FullBlock files to records, one JSON object a line.
    Decode(decode::DecodeOptions),
    /// Record a source: its blocks in the order in which it tells of them, reorgs included.
    Record(record::RecordConfig),
    /// Print the digest of a data folder's rows: equal where the same rows are served at the same block.
    Digest(digest::DigestOptions),
    /// Print the settings that a process would run with, and where each comes from. Without its name, `standalone`.
    CheckConfig(Box<CheckConfig>),
}

/// Where a process reads its settings from, beside flags and environment.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ConfigFile {
    /// A TOML file with settings: each flag's name, with `_` for `-`.
    #[arg(long, env = "MOJOSCAN_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// The settings to look at.
#[derive(Debug, Clone, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct CheckConfig {
    #[command(subcommand)]
    process: Option<CheckedProcess>,

    #[command(flatten)]
    standalone: standalone::StandaloneConfig,
}

impl CheckConfig {
    /// Whether the settings go together.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match &self.process {
            Some(CheckedProcess::Ingestor(config)) => config.check(),
            Some(CheckedProcess::Address(config)) => config.check(),
            Some(CheckedProcess::Gateway(config)) => config.check(),
            None => Ok(()),
        }
    }
}

/// A process of the fleet whose settings are looked at.
#[derive(Debug, Clone, Subcommand)]
enum CheckedProcess {
    /// Those of `ingestor`.
    Ingestor(ingestor::IngestorConfig),
    /// Those of `address`.
    Address(address::AddressConfig),
    /// Those of `gateway`.
    Gateway(gateway::GatewayProcessConfig),
}
