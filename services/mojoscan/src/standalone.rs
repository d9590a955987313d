//! `standalone`: everything in one process, on an embedded store, without a broker.

pub mod demo;

use crate::cli::{Cli, ConfigFile};
use crate::in_process;
use crate::process::{LagConfig, bind, local};
use clap::{CommandFactory, FromArgMatches};
use mojoscan_address::store::embedded::EmbeddedAddressStore;
use mojoscan_address::{AddressOptions, AddressService};
use mojoscan_domain::Network;
use mojoscan_engines::embedded::{Embedded, EmbeddedHistory};
use mojoscan_gateway::clients::address::AddressClient;
use mojoscan_gateway::{Gateway, GatewayConfig};
use mojoscan_ingestor::source::{self, SourceUrl};
use mojoscan_ingestor::{Following, IngestError, Ingestor, IngestorOptions};
use mojoscan_pipeline::runner::{ProgressMap, RunnerOptions};
use mojoscan_pipeline::{BlockSource, Publisher, SourceError, memory};
use mojoscan_runtime::admin;
use mojoscan_runtime::config::{self, Parsed};
use mojoscan_runtime::exit::{self, Failure};
use mojoscan_runtime::health::Health;
use mojoscan_runtime::tasks::Tasks;
use mojoscan_runtime::telemetry::{Telemetry, TelemetryConfig};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// Settings of `standalone`.
#[derive(Debug, Clone, clap::Args)]
pub struct StandaloneConfig {
    /// Where blocks come from: `demo`, `recording:///path`, `peer://host:port`, `db:///path/blockchain_v2_x.sqlite`
    /// (with `?immutable=1` for the file of a stopped node), or `rpc://host:port?cert=/path&key=/path`.
    #[arg(long, env = "MOJOSCAN_SOURCE", default_value = "demo", value_name = "URL")]
    pub source: SourceUrl,

    /// The network: mainnet, testnet11 or simulator0. Without, mainnet, or what a recording or a database carries.
    #[arg(long, env = "MOJOSCAN_NETWORK", value_name = "NAME")]
    pub network: Option<Network>,

    /// The folder that keeps everything.
    #[arg(long, env = "MOJOSCAN_DATA", default_value = "mojoscan-data", value_name = "DIR")]
    pub data: PathBuf,

    /// Where the public interface listens.
    #[arg(long, env = "MOJOSCAN_LISTEN", default_value = "127.0.0.1:8080", value_name = "HOST:PORT")]
    pub listen: SocketAddr,

    /// Where health and metrics listen.
    #[arg(long, env = "MOJOSCAN_ADMIN", default_value = "127.0.0.1:8081", value_name = "HOST:PORT")]
    pub admin: SocketAddr,

    /// XCH coins below this many mojos are dust. Fixed once the data folder is made.
    #[arg(long, env = "MOJOSCAN_DUST_BELOW", default_value_t = 10_000, value_name = "MOJOS")]
    pub dust_below: u64,

    /// How many blocks below the peak a reorg can be undone. A deeper one needs a new data folder.
    #[arg(long, env = "MOJOSCAN_UNDO_DEPTH", default_value_t = 10_000, value_name = "BLOCKS",
          value_parser = clap::value_parser!(u32).range(32..=1_000_000))]
    pub undo_depth: u32,

    /// Memory for the store's block cache, in MiB.
    #[arg(long, env = "MOJOSCAN_STORE_CACHE_MIB", default_value_t = 32, value_name = "MIB",
          value_parser = clap::value_parser!(u64).range(8..=1_048_576))]
    pub store_cache_mib: u64,

    /// From when on the process is not ready.
    #[command(flatten)]
    pub lag: LagConfig,

    #[command(flatten)]
    pub(crate) file: ConfigFile,

    /// Settings of the public interface.
    #[command(flatten)]
    pub gateway: GatewayConfig,

    /// Settings of telemetry.
    #[command(flatten)]
    pub telemetry: TelemetryConfig,
}

impl StandaloneConfig {
    /// The settings that a command line gives, as `standalone` would run with.
    ///
    /// # Errors
    /// [`exit::CONFIG`], with one line that says what to change.
    pub fn parse(arguments: &[&str]) -> Result<Self, Failure> {
        let line = ["mojoscan", "standalone"].iter().chain(arguments).map(OsString::from).collect();
        match config::parse(Cli::command(), line)? {
            Parsed::Run(matches) => {
                let given = matches.subcommand_matches("standalone").unwrap_or(&matches);
                Self::from_arg_matches(given).map_err(|error| Failure::new(exit::CONFIG, error.to_string()))
            }
            Parsed::Show(text) => Err(Failure::new(exit::CONFIG, text)),
        }
    }
}

/// A standalone service that was started.
pub struct Standalone {
    /// Where the public interface listens.
    pub listen: SocketAddr,
    /// Where health and metrics listen.
    pub admin: SocketAddr,
    /// How far the address projection is.
    pub progress: watch::Receiver<ProgressMap>,
    /// The rows of addresses.
    pub addresses: EmbeddedAddressStore,
    tasks: Tasks,
    end_admin: CancellationToken,
}

/// Runs until it is told to stop.
pub(crate) async fn run(config: StandaloneConfig) -> Result<(), Failure> {
    let telemetry = Telemetry::start(&config.telemetry, "mojoscan-standalone")?;
    let demo = config.source == SourceUrl::Demo;
    let standalone = Standalone::start(&config, telemetry.registry()).await?;
    if demo {
        demo::announce(standalone.listen, standalone.progress.clone());
    }
    standalone.run().await
}

impl Standalone {
    /// Starts everything, on the source that the settings name.
    ///
    /// # Errors
    /// As [`Standalone::start_on`], and if the source cannot be opened.
    pub async fn start(
        config: &StandaloneConfig,
        registry: mojoscan_runtime::Registry,
    ) -> Result<Self, Failure> {
        let (source, network) = source::open(&config.source, config.network, demo::RECORDING)
            .await
            .map_err(|error| source_failure(&error))?;
        Self::start_on(source, network, config, registry).await
    }

    /// Starts everything, on this source. Every port is bound before anything else happens.
    ///
    /// # Errors
    /// [`Failure`] says what to change: a port that is taken, a data folder that was made for something else.
    pub async fn start_on(
        source: Arc<dyn BlockSource>,
        network: Network,
        config: &StandaloneConfig,
        registry: mojoscan_runtime::Registry,
    ) -> Result<Self, Failure> {
        let public = bind("listen", config.listen).await?;
        let admin = bind("admin", config.admin).await?;
        let embedded = Embedded::open(&config.data, config.store_cache_mib << 20)
            .map_err(|error| data_failure(&error))?;
        let store =
            EmbeddedAddressStore::open(&embedded, network.name(), config.dust_below, config.undo_depth)
                .map_err(|error| data_failure(&error))?;
        let history = EmbeddedHistory::open(&embedded, config.undo_depth);
        let history = history.map_err(|error| data_failure(&error))?;
        let (publisher, logs) = memory::log(history, 1);
        let [log] = <[_; 1]>::try_from(logs).map_err(|_| Failure::failed("the log has no reader"))?;

        let mut tasks = Tasks::default();
        let health = Health::default();
        let AddressService { rpc, progress } =
            mojoscan_address::start(log, store.clone(), address_options(config), &mut tasks, &health);
        ingest(source, network, publisher, &mut tasks);
        // the gateway's last requests are answered before the service that they ask ends
        let answered = CancellationToken::new();
        let channel = in_process::connect(rpc, &health, &mut tasks, answered.clone()).await?;
        let client = AddressClient::new(channel, tasks.stop());
        let gateway = Gateway::new(&config.gateway, network, client);
        let checked = gateway.clone();
        health.add("gateway", move || checked.condition());

        let (listen, admin_address) = (local(&public)?, local(&admin)?);
        let router = mojoscan_gateway::router(gateway, &config.gateway);
        let (connections_max, stop) = (config.gateway.connections_max, tasks.stop());
        tasks.spawn("gateway", async move {
            let _answered = answered.drop_guard();
            mojoscan_gateway::serve(public, router, connections_max, stop).await.map_err(Failure::failed)
        });
        let end_admin = CancellationToken::new();
        tokio::spawn(admin::serve(admin, health, registry, tasks.stop(), end_admin.clone()));
        info!(%listen, admin = %admin_address, %network, data = %config.data.display(), "mojoscan is up");
        Ok(Self { listen, admin: admin_address, progress, addresses: store, tasks, end_admin })
    }

    /// What stops it.
    pub fn stop(&self) -> CancellationToken {
        self.tasks.stop()
    }

    /// Runs until a signal comes, [`Standalone::stop`] is cancelled, or a part fails.
    ///
    /// # Errors
    /// The failure of the part that failed.
    pub async fn run(self) -> Result<(), Failure> {
        let outcome = self.tasks.run().await;
        self.end_admin.cancel();
        outcome
    }
}

fn address_options(config: &StandaloneConfig) -> AddressOptions {
    AddressOptions {
        shards: 1,
        dust_below: config.dust_below,
        lag_max: config.lag.lag_max,
        silence_max: config.lag.silence_max(),
        runner: RunnerOptions::default(),
    }
}

/// Starts to publish what a source gives. Gives how far that is.
pub(crate) fn ingest(
    source: Arc<dyn BlockSource>,
    network: Network,
    publisher: impl Publisher,
    tasks: &mut Tasks,
) -> watch::Receiver<Option<Following>> {
    let ingestor = Ingestor::new(source, publisher, network, IngestorOptions::default());
    let (following, stop) = (ingestor.following(), tasks.stop());
    tasks.spawn("ingestor", async move { ingestor.run(stop).await.map_err(|error| ingest_failure(&error)) });
    following
}

fn data_failure(error: &mojoscan_pipeline::StoreError) -> Failure {
    Failure::new(exit::CONFIG, format!("--data: {error}"))
}

pub(crate) fn source_failure(error: &SourceError) -> Failure {
    let code = match error {
        SourceError::Unavailable(_) | SourceError::Missing { .. } => exit::FAILED,
        SourceError::Broken(_) => exit::DATA,
    };
    Failure::new(code, format!("--source: {error}"))
}

pub(crate) fn ingest_failure(error: &IngestError) -> Failure {
    match error {
        IngestError::Source(error) => source_failure(error),
        IngestError::Unreadable { .. }
        | IngestError::Misplaced { .. }
        | IngestError::Invalid { .. }
        | IngestError::OtherNetwork { .. } => Failure::new(exit::DATA, error),
        IngestError::Publish(mojoscan_pipeline::PublishError::Fenced(_)) => Failure::new(exit::FENCED, error),
        _ => Failure::failed(error),
    }
}
