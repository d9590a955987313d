//! What every process of a fleet has: telemetry, health and metrics on a port of its own, tasks that end together.

use crate::cli::ConfigFile;
use mojoscan_runtime::admin;
use mojoscan_runtime::exit::{self, Failure};
use mojoscan_runtime::health::Health;
use mojoscan_runtime::tasks::Tasks;
use mojoscan_runtime::telemetry::{Telemetry, TelemetryConfig};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// Settings that every process of a fleet has.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ProcessConfig {
    /// Where health and metrics listen.
    #[arg(long, env = "MOJOSCAN_ADMIN", default_value = "127.0.0.1:8081", value_name = "HOST:PORT")]
    admin: SocketAddr,

    #[command(flatten)]
    file: ConfigFile,

    /// Settings of telemetry.
    #[command(flatten)]
    telemetry: TelemetryConfig,
}

impl ProcessConfig {
    /// The file that the settings were read from.
    pub(crate) const fn file(&self) -> &ConfigFile {
        &self.file
    }
}

/// From when on a process that follows the chain is not ready.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct LagConfig {
    /// Blocks behind the peak from which on the process is not ready.
    #[arg(long, env = "MOJOSCAN_LAG_MAX", default_value_t = 10, value_name = "BLOCKS")]
    pub lag_max: u32,

    /// Seconds without a word from the chain from which on the process is not ready.
    #[arg(long, env = "MOJOSCAN_SILENCE_MAX_SECONDS", default_value_t = 300, value_name = "SECONDS")]
    pub silence_max_seconds: u64,
}

impl LagConfig {
    /// Longest time without a word from the chain.
    pub const fn silence_max(&self) -> Duration {
        Duration::from_secs(self.silence_max_seconds)
    }
}

/// A process that is being put together.
pub(crate) struct Process {
    pub(crate) tasks: Tasks,
    pub(crate) health: Health,
    admin: TcpListener,
    telemetry: Telemetry,
}

impl Process {
    /// Binds the admin port before anything else happens.
    pub(crate) async fn start(config: &ProcessConfig, name: &str) -> Result<Self, Failure> {
        let telemetry = Telemetry::start(&config.telemetry, name)?;
        let admin = bind("admin", config.admin).await?;
        Ok(Self { tasks: Tasks::default(), health: Health::default(), admin, telemetry })
    }

    /// Runs until a signal comes or a task ends. `listen` is where the process serves, if it does.
    pub(crate) async fn run(self, listen: Option<SocketAddr>) -> Result<(), Failure> {
        let admin = local(&self.admin)?;
        let end = CancellationToken::new();
        let registry = self.telemetry.registry();
        tokio::spawn(admin::serve(self.admin, self.health, registry, self.tasks.stop(), end.clone()));
        info!(listen = listen.map(tracing::field::display), %admin, "mojoscan is up");
        let outcome = self.tasks.run().await;
        end.cancel();
        outcome
    }
}

/// Binds a port that the flag `name` gives.
pub(crate) async fn bind(name: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|error| Failure::new(exit::CONFIG, format!("--{name} {address}: {error}")))
}

/// Where a port is bound.
pub(crate) fn local(listener: &TcpListener) -> Result<SocketAddr, Failure> {
    listener.local_addr().map_err(Failure::failed)
}
