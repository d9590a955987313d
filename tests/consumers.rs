//! Consumers of other teams, in other languages, on a real broker.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use fastrand::Rng;
use mojoscan_domain::Network;
use mojoscan_domain::record::CoinEvent;
use mojoscan_engines::kafka::{KafkaConfig, KafkaPublisher, Topics};
use mojoscan_pipeline::Publisher;
use mojoscan_tests::engines::Kafka;
use mojoscan_tests::record_log::Published;
use mojoscan_tests::seeds;
use mojoscan_tests::service::lines;
use mojoscan_tests::trial::{self, Need};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Partitions of the coins topic.
const PARTITIONS: u32 = 3;
/// Longest time until a consumer says something.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    let need = Need { name: "python", missing: missing(), in_ci: true };
    trial::run(&need, &[("a_consumer_in_python_follows_a_reorg", python)]);
}

fn tests() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder into which `make engines` has installed the clients.
fn installed() -> PathBuf {
    tests().join("../target/engines/python")
}

fn missing() -> Option<String> {
    let ready = installed().join("ready").is_file();
    let clients = || Some("its Kafka client is not installed: `make engines` does that".to_owned());
    Kafka::missing().or_else(|| if ready { None } else { clients() })
}

/// A consumer in Python. It ends with the test.
struct Consumer {
    child: Child,
    lines: Receiver<String>,
    /// What it has said last of each partition: the block, and the coins up to there.
    said: BTreeMap<u64, (String, Vec<String>)>,
}

impl Consumer {
    fn start(brokers: &str, topic: &str) -> Self {
        let mut child = Command::new(installed().join("venv/bin/python"))
            .arg("-B")
            .arg(tests().join("consumers/python/follow.py"))
            .args([brokers, topic])
            .arg(tests().join("../proto/src/generated/descriptors.bin"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = lines(child.stdout.take().unwrap());
        Self { child, lines, said: BTreeMap::new() }
    }

    /// Reads on until every partition is at the end of a chain; what it keeps must be what is there.
    fn agree(&mut self, chain: &Published) {
        let tip = chain.tip().unwrap().hash.to_string();
        while self.said.len() < PARTITIONS as usize || self.said.values().any(|(block, _)| *block != tip) {
            let line = self.lines.recv_timeout(PATIENCE).unwrap();
            let mut said: Value = serde_json::from_str(&line).unwrap();
            let coins = serde_json::from_value(said["coins"].take()).unwrap();
            let block = said["block"].as_str().unwrap().to_owned();
            self.said.insert(said["partition"].as_u64().unwrap(), (block, coins));
        }
        let kept: Vec<_> = self.said.values().flat_map(|(_, coins)| coins).collect();
        let events = chain.events();
        let there: BTreeSet<_> = events
            .iter()
            .filter_map(|(_, event)| match event {
                CoinEvent::Created(created) => Some(created.id.to_string()),
                CoinEvent::Spent(_) => None,
            })
            .collect();
        assert_eq!(kept.len(), there.len());
        assert!(kept.into_iter().all(|coin| there.contains(coin)));
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn python() {
    let mut rng = Rng::with_seed(seeds::some(1).next().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let kafka = Kafka::start().await;
        let config = KafkaConfig::plain(&kafka.address(), PARTITIONS);
        let topics = Topics::new(Network::Simulator0, &config);
        topics.ensure(&config, Some(1)).await.unwrap();
        let mut publisher = KafkaPublisher::open(&config, &topics).await.unwrap();
        publisher.resume().await.unwrap();
        let mut chain = Published::default();
        publisher.publish(chain.grow(20, &mut rng)).await.unwrap();
        let mut consumer = Consumer::start(&kafka.address(), &topics.coins);
        consumer.agree(&chain);
        publisher.publish(chain.fork(10, 12, &mut rng)).await.unwrap();
        consumer.agree(&chain);
        publisher.publish(chain.fork(22, 1, &mut rng)).await.unwrap();
        consumer.agree(&chain);
    });
}
