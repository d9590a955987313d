//! Every process of the service by itself, on a real broker and a real store.

use crate::engines::{Cassandra, Kafka};
use crate::rebuild::{DUST_BELOW, Rebuilder, Rebuilt, assert_same_story};
use crate::service::{Service, output};
use crate::wait;
use mojoscan_address::store::AddressStore;
use mojoscan_address::store::scylla::{ScyllaAddressOptions, ScyllaAddressStore};
use mojoscan_domain::{BlockId, Digest, Network};
use mojoscan_engines::kafka::{KafkaConfig, Topics};
use mojoscan_engines::scylla::{Cql, CqlConfig};
use std::path::{Path, PathBuf};

/// Partitions of the coins topic.
pub const PARTITIONS: u32 = 3;
/// The keyspace that the fleet begins with.
pub const KEYSPACE: &str = "mojoscan";

/// Why there can be no fleet here.
pub fn missing() -> Option<String> {
    Kafka::missing().or_else(Cassandra::missing)
}

/// A broker and a store, ready for the processes of a fleet.
pub struct Fleet {
    program: PathBuf,
    source: String,
    /// Where the processes send their traces.
    pub traces: Option<String>,
    /// The broker.
    pub kafka: Kafka,
    /// The store.
    pub cassandra: Cassandra,
}

impl Fleet {
    /// Starts the engines, and makes the topics and the tables.
    pub async fn start(program: &Path, source: String) -> Self {
        let (kafka, cassandra) = tokio::join!(Kafka::start(), Cassandra::start());
        let fleet = Self { program: program.to_owned(), source, traces: None, kafka, cassandra };
        let (partitions, broker, store) =
            (PARTITIONS.to_string(), fleet.kafka.address(), fleet.cassandra.address());
        let topics = ["topics", "ensure", "--network", "simulator0", "--coins-partitions", &partitions];
        output(program, &[&topics[..], &["--kafka", &broker]].concat());
        output(program, &["migrate", "--cql", &store, "--keyspace", KEYSPACE]);
        fleet
    }

    /// Arguments that lead to the broker.
    fn broker(&self) -> Vec<String> {
        let partitions = PARTITIONS.to_string();
        ["--network", "simulator0", "--kafka", &self.kafka.address(), "--coins-partitions", &partitions]
            .map(str::to_owned)
            .into()
    }

    fn process(&self, arguments: &[String], failpoints: Option<&str>) -> Service {
        let traces = self.traces.iter().flat_map(|url| ["--otlp-endpoint", url]);
        Service::process(&self.program, arguments.iter().map(String::as_str).chain(traces), failpoints)
    }

    /// Starts an ingestor, and waits for nothing.
    pub fn ingestor(&self) -> Service {
        self.ingestor_with(None)
    }

    /// The same with fail points.
    pub fn ingestor_with(&self, failpoints: Option<&str>) -> Service {
        let arguments = ["ingestor", "--source", &self.source].map(str::to_owned);
        self.process(&[arguments.to_vec(), self.broker()].concat(), failpoints)
    }

    /// Starts an address service that listens at `port` (0 for any), and waits for nothing.
    pub fn address(&self, keyspace: &str, port: u16) -> Service {
        self.address_with(keyspace, port, &[])
    }

    /// The same with more arguments.
    pub fn address_with(&self, keyspace: &str, port: u16, more: &[&str]) -> Service {
        let (listen, store) = (format!("127.0.0.1:{port}"), self.cassandra.address());
        let arguments = ["address", "--listen", &listen, "--cql", &store, "--keyspace", keyspace];
        let arguments: Vec<String> = arguments.iter().chain(more).map(ToString::to_string).collect();
        self.process(&[arguments, self.broker()].concat(), None)
    }

    /// Starts a gateway to an address service, and waits for nothing. Its settings file may be changed later.
    pub fn gateway(&self, settings: &Path, port: u16) -> Service {
        let (listen, settings) = (format!("127.0.0.1:{port}"), settings.to_str().unwrap().to_owned());
        let arguments = ["gateway", "--network", "simulator0", "--listen", &listen, "--config", &settings];
        self.process(&arguments.map(str::to_owned), None)
    }

    /// Rebuilds a keyspace beside the live one, to the end, with more arguments.
    pub fn replay(&self, into: &str, more: &[&str]) -> String {
        let store = self.cassandra.address();
        let arguments =
            ["replay", "--into", into, "--cql", &store, "--keyspace", KEYSPACE, "--admin", "127.0.0.1:0"];
        let broker = self.broker();
        let broker: Vec<&str> = broker.iter().map(String::as_str).collect();
        output(&self.program, &[&arguments[..], more, &broker].concat())
    }

    /// The rows of addresses in a keyspace.
    pub async fn store(&self, keyspace: &str) -> ScyllaAddressStore {
        let kafka = KafkaConfig::plain(&self.kafka.address(), PARTITIONS);
        let topics = Topics::new(Network::Simulator0, &kafka);
        let options = ScyllaAddressOptions {
            network: Network::Simulator0.name().to_owned(),
            log: format!("{}/{}", topics.check(&kafka).await.unwrap(), topics.coins),
            partitions: PARTITIONS,
            dust_below: DUST_BELOW,
            undo_depth: 10_000,
        };
        let cql = Cql::connect(&CqlConfig::new(vec![self.cassandra.address()], keyspace)).await.unwrap();
        ScyllaAddressStore::open(&cql, &options).await.unwrap()
    }

    /// Waits until every shard of a keyspace is at a block, and compares all of its rows with a clean rebuild.
    pub async fn compare(
        &self,
        keyspace: &str,
        clean: &Rebuilt,
        rebuilder: &Rebuilder,
        tip: BlockId,
        context: &str,
    ) {
        let store = self.store(keyspace).await;
        let sum = wait::until(&format!("{context}: every shard at block {tip}"), async || {
            let mut sum = Digest::EMPTY;
            for shard in 0..PARTITIONS {
                let (position, digest) = store.digest(shard).await.ok()?;
                (position.block == Some(tip)).then_some(())?;
                sum += digest;
            }
            Some(sum)
        })
        .await;
        let (_, right) = clean.store.digest(0).await.unwrap();
        assert_eq!(sum, right, "{context}: digest");
        for shard in 0..PARTITIONS {
            let (again, digest) = store.recomputed_digest(shard).await.unwrap();
            let (position, kept) = store.digest(shard).await.unwrap();
            assert_eq!((again.block, digest), (position.block, kept), "{context}: digest of shard {shard}");
        }
        assert_same_story(&store, &clean.store, &rebuilder.owners, tip.height, context).await;
    }
}
