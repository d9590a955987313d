//! `gateway`: the REST edge of a fleet.
//!
//! SIGHUP has it read `address_service` in its settings file again, and go over to those services once they are as far
//! as the present ones. Requests under way are answered by the services that they were asked of.

use crate::process::{Process, ProcessConfig, bind, local};
use mojoscan_domain::Network;
use mojoscan_gateway::clients::address::{AddressClient, Switch};
use mojoscan_gateway::{Gateway, GatewayConfig};
use mojoscan_runtime::config;
use mojoscan_runtime::exit::{self, Failure};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tonic::transport::{Channel, Endpoint};
use tracing::{error, info};

/// How long a connection to a service may take to be made.
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// How often a service is asked whether it is still there, and how long it may take to say so.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Settings of `gateway`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct GatewayProcessConfig {
    /// The network: mainnet, testnet11 or simulator0.
    #[arg(long, env = "MOJOSCAN_NETWORK", default_value = "mainnet", value_name = "NAME")]
    network: Network,

    /// Where the public interface listens.
    #[arg(long, env = "MOJOSCAN_LISTEN", default_value = "127.0.0.1:8080", value_name = "HOST:PORT")]
    listen: SocketAddr,

    /// The address services, as http://host:port, separated by commas. SIGHUP reads them from the file again.
    #[arg(
        long,
        env = "MOJOSCAN_ADDRESS_SERVICE",
        default_value = "http://127.0.0.1:9090",
        value_delimiter = ',',
        value_name = "URL,…"
    )]
    address_service: Vec<String>,

    /// Settings of the public interface.
    #[command(flatten)]
    gateway: GatewayConfig,

    #[command(flatten)]
    process: ProcessConfig,
}

impl GatewayProcessConfig {
    /// Whether the services can be asked.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        endpoints(&self.address_service).map(drop)
    }
}

pub(crate) async fn run(config: GatewayProcessConfig) -> Result<(), Failure> {
    let mut process = Process::start(&config.process, "mojoscan-gateway").await?;
    let listener = bind("listen", config.listen).await?;
    let listen = local(&listener)?;
    let (client, switch) = AddressClient::switched(channel(&config.address_service)?, process.tasks.stop());
    let gateway = Gateway::new(&config.gateway, config.network, client);
    let checked = gateway.clone();
    process.health.add("gateway", move || checked.condition());
    // heard from now on, with or without a file: unheard it would end the process
    let hangups = signal(SignalKind::hangup()).map_err(Failure::failed)?;
    let reloads = reload(hangups, config.process.file().config.clone(), switch);
    tokio::spawn(process.tasks.stop().run_until_cancelled_owned(reloads));
    let router = mojoscan_gateway::router(gateway, &config.gateway);
    let (connections_max, stop) = (config.gateway.connections_max, process.tasks.stop());
    process.tasks.spawn("gateway", async move {
        mojoscan_gateway::serve(listener, router, connections_max, stop).await.map_err(Failure::failed)
    });
    process.run(Some(listen)).await
}

/// A channel to one of several services at a time. It is made when it is first used.
pub(crate) fn channel(services: &[String]) -> Result<Channel, Failure> {
    Ok(Channel::balance_list(endpoints(services)?.into_iter()))
}

fn endpoints(services: &[String]) -> Result<Vec<Endpoint>, Failure> {
    let endpoint = |service: &String| {
        let wrong = |error| Failure::new(exit::CONFIG, format!("--address-service {service}: {error}"));
        if !service.starts_with("http://") {
            return Err(Failure::new(exit::CONFIG, format!("--address-service {service}: http://host:port")));
        }
        let endpoint = Endpoint::from_shared(service.clone()).map_err(wrong)?;
        Ok(endpoint
            .connect_timeout(CONNECT_MAX)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .keep_alive_while_idle(true))
    };
    services.iter().map(endpoint).collect()
}

/// Goes over to the services that the file names, whenever SIGHUP comes.
async fn reload(mut hangups: Signal, file: Option<PathBuf>, switch: Switch) {
    while hangups.recv().await.is_some() {
        let Some(file) = &file else {
            error!("there is no settings file to read again: --config names one");
            continue;
        };
        let services = config::list_in_file(file, "address_service");
        match services.and_then(|services| Ok((channel(&services)?, services))) {
            Ok((channel, services)) => {
                info!(?services, "going over to other address services");
                switch.to(channel);
            }
            Err(failure) => error!(reason = %failure, "the settings were not read again"),
        }
    }
}
