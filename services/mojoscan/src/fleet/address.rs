//! `address`: from the coins topic to the rows of addresses, and answers from them.

use super::{catch_up, cql_failure, kafka_failure};
use crate::process::{LagConfig, Process, ProcessConfig, bind, local};
use crate::rpc;
use mojoscan_address::store::scylla::{ScyllaAddressOptions, ScyllaAddressStore};
use mojoscan_address::{AddressOptions, AddressService};
use mojoscan_domain::Network;
use mojoscan_engines::kafka::{KafkaConfig, KafkaLog, Topics};
use mojoscan_engines::scylla::{Cql, CqlConfig};
use mojoscan_pipeline::runner::RunnerOptions;
use mojoscan_runtime::exit::Failure;
use std::net::SocketAddr;
use tokio_stream::wrappers::TcpListenerStream;

/// Settings of `address`. Any number may run: they share the partitions, and each answers for all of them.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AddressConfig {
    /// The network: mainnet, testnet11 or simulator0.
    #[arg(long, env = "MOJOSCAN_NETWORK", default_value = "mainnet", value_name = "NAME")]
    network: Network,

    /// Where the gRPC service listens.
    #[arg(long, env = "MOJOSCAN_LISTEN", default_value = "127.0.0.1:9090", value_name = "HOST:PORT")]
    listen: SocketAddr,

    #[command(flatten)]
    lag: LagConfig,

    #[command(flatten)]
    rows: RowsConfig,

    #[command(flatten)]
    kafka: KafkaConfig,

    #[command(flatten)]
    cql: CqlConfig,

    #[command(flatten)]
    process: ProcessConfig,
}

/// What the rows are made for. Fixed once the keyspace is filled.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RowsConfig {
    /// XCH coins below this many mojos are dust. Fixed once the keyspace is filled.
    #[arg(long, env = "MOJOSCAN_DUST_BELOW", default_value_t = 10_000, value_name = "MOJOS")]
    pub(super) dust_below: u64,

    /// How many blocks below the peak a reorg can be undone. A deeper one needs a rebuild into another keyspace.
    #[arg(long, env = "MOJOSCAN_UNDO_DEPTH", default_value_t = 10_000, value_name = "BLOCKS",
          value_parser = clap::value_parser!(u32).range(32..=1_000_000))]
    undo_depth: u32,
}

impl AddressConfig {
    /// Whether the settings go together.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.kafka.check().map_err(|error| kafka_failure(&error))?;
        self.cql.check().map_err(|error| cql_failure(&error))
    }
}

pub(crate) async fn run(config: AddressConfig) -> Result<(), Failure> {
    let mut process = Process::start(&config.process, "mojoscan-address").await?;
    let listener = bind("listen", config.listen).await?;
    let listen = local(&listener)?;
    let topics = Topics::new(config.network, &config.kafka);
    let Opened { log, store } = open(&topics, &config.kafka, &config.cql, &config.rows).await?;
    let offsets = log.offsets();
    let options = AddressOptions {
        shards: topics.coins_partitions,
        dust_below: config.rows.dust_below,
        lag_max: config.lag.lag_max,
        silence_max: config.lag.silence_max(),
        runner: RunnerOptions::default(),
    };
    let AddressService { rpc, progress } =
        mojoscan_address::start(log, store, options, &mut process.tasks, &process.health);
    tokio::spawn(process.tasks.stop().run_until_cancelled_owned(catch_up::tell(progress.clone())));
    tokio::spawn(process.tasks.stop().run_until_cancelled_owned(offsets.follow(progress)));
    let stop = process.tasks.stop();
    let server = rpc::server(rpc, process.health.clone(), stop.clone())?;
    process.tasks.spawn("address rpc", async move {
        let incoming = TcpListenerStream::new(listener);
        server.serve_with_incoming_shutdown(incoming, stop.cancelled_owned()).await.map_err(Failure::failed)
    });
    process.run(Some(listen)).await
}

/// The two ends of an address projection.
pub(super) struct Opened {
    pub(super) log: KafkaLog,
    pub(super) store: ScyllaAddressStore,
}

/// Opens the log and the store, which must belong to each other.
pub(super) async fn open(
    topics: &Topics,
    kafka: &KafkaConfig,
    cql: &CqlConfig,
    rows: &RowsConfig,
) -> Result<Opened, Failure> {
    let store = open_store(topics, kafka, cql, rows).await?;
    // consumers of one keyspace share its partitions
    let group = format!("{}-address-{}", topics.network, cql.keyspace);
    let log = KafkaLog::open(kafka, topics, &group).await.map_err(|error| kafka_failure(&error))?;
    Ok(Opened { log, store })
}

/// Opens the store of the rows that come from a log.
pub(super) async fn open_store(
    topics: &Topics,
    kafka: &KafkaConfig,
    cql: &CqlConfig,
    rows: &RowsConfig,
) -> Result<ScyllaAddressStore, Failure> {
    let cluster = topics.check(kafka).await.map_err(|error| kafka_failure(&error))?;
    let options = ScyllaAddressOptions {
        network: topics.network.name().to_owned(),
        log: format!("{cluster}/{}", topics.coins),
        partitions: topics.coins_partitions,
        dust_below: rows.dust_below,
        undo_depth: rows.undo_depth,
    };
    let cql = Cql::connect(cql).await.map_err(|error| cql_failure(&error))?;
    ScyllaAddressStore::open(&cql, &options).await.map_err(|error| cql_failure(&error))
}
