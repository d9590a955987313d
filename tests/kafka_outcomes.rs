//! Publishers that are stopped in the middle of a transaction: what they say, and what is in the log afterwards.
//!
//! The points at which they are stopped are the whole program's, so these tests take turns.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

use fail::FailScenario;
use fastrand::Rng;
use mojoscan_domain::Network;
use mojoscan_engines::kafka::{KafkaConfig, KafkaLog, KafkaPublisher, Topics};
use mojoscan_pipeline::{PublishError, Publisher};
use mojoscan_tests::engines::Kafka;
use mojoscan_tests::record_log::{Published, Reader, Shelf};
use mojoscan_tests::seeds;
use mojoscan_tests::trial::{self, Need};
use std::sync::{Mutex, mpsc};
use tokio::sync::oneshot;

/// Partitions of the coins topic.
const PARTITIONS: u32 = 3;
/// All that was sent is there, and nothing is committed.
const BEFORE: &str = "kafka-commit-before";
/// It is committed, and nobody was told.
const AFTER: &str = "kafka-commit-after";

fn main() {
    let need = Need { name: "kafka", missing: Kafka::missing(), in_ci: true };
    trial::run(
        &need,
        &[
            ("a_commit_whose_answer_is_lost_is_found_in_the_log", || run(answer_lost)),
            ("a_transaction_that_was_given_up_leaves_nothing", || run(given_up)),
            ("a_broker_that_dies_before_a_commit_leaves_all_or_nothing", || run(broker_dies)),
            ("a_publisher_that_wakes_up_late_is_shut_out", || run(late)),
        ],
    );
}

fn run<F: Future<Output = ()>>(test: fn(Log) -> F) {
    let _turn = FailScenario::setup();
    let seed = seeds::some(1).next().unwrap();
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(
        async {
            test(Log::start(seed).await).await;
        },
    );
}

/// A broker, and a chain in it.
struct Log {
    kafka: Kafka,
    config: KafkaConfig,
    topics: Topics,
    rng: Rng,
    chain: Published,
}

impl Log {
    async fn start(seed: u64) -> Self {
        let kafka = Kafka::start().await;
        let config = KafkaConfig::plain(&kafka.address(), PARTITIONS);
        let topics = Topics::new(Network::Simulator0, &config);
        topics.ensure(&config, Some(1)).await.unwrap();
        let mut log = Self { kafka, config, topics, rng: Rng::with_seed(seed), chain: Published::default() };
        let mut publisher = log.publisher().await;
        assert_eq!(publisher.resume().await.unwrap(), None);
        publisher.publish(log.chain.grow(5, &mut log.rng)).await.unwrap();
        log
    }

    async fn publisher(&self) -> KafkaPublisher {
        KafkaPublisher::open(&self.config, &self.topics).await.unwrap()
    }

    /// What a reader finds that begins at the beginning.
    async fn check(&self) {
        let shelf = Shelf::default();
        let reader =
            Reader::start(KafkaLog::open(&self.config, &self.topics, "check").await.unwrap(), &shelf);
        shelf.reach(0..PARTITIONS, self.chain.tip()).await;
        assert_eq!(shelf.events(), self.chain.events());
        reader.stop().await;
    }
}

async fn answer_lost(mut log: Log) {
    let mut publisher = log.publisher().await;
    publisher.resume().await.unwrap();
    fail::cfg(AFTER, "1*return->off").unwrap();
    let batch = log.chain.grow(3, &mut log.rng);
    let lost = publisher.publish(batch.clone()).await.unwrap_err();
    assert!(matches!(lost, PublishError::Unavailable(_)), "{lost}");
    let again = publisher.publish(batch).await.unwrap_err();
    assert!(matches!(again, PublishError::Unavailable(_)), "{again}");
    assert_eq!(publisher.resume().await.unwrap(), log.chain.tip());
    publisher.publish(log.chain.fork(2, 3, &mut log.rng)).await.unwrap();
    log.check().await;
}

async fn given_up(mut log: Log) {
    let mut publisher = log.publisher().await;
    publisher.resume().await.unwrap();
    fail::cfg(BEFORE, "1*return->off").unwrap();
    let gone = publisher.publish(log.chain.clone().grow(300, &mut log.rng)).await.unwrap_err();
    assert!(matches!(gone, PublishError::Unavailable(_)), "{gone}");
    // far behind the last record stands what was given up
    assert_eq!(publisher.resume().await.unwrap(), log.chain.tip());
    publisher.publish(log.chain.grow(3, &mut log.rng)).await.unwrap();
    log.check().await;
}

/// Stops the next publisher before it commits. Says when that is so, and lets it go on.
fn stop_before_commit() -> (oneshot::Receiver<()>, mpsc::Sender<()>) {
    let (stopped, is_stopped) = oneshot::channel();
    let (go, gone) = mpsc::channel();
    let once = Mutex::new(Some((stopped, gone)));
    fail::cfg_callback(BEFORE, move || {
        let first = once.lock().unwrap().take();
        if let Some((stopped, gone)) = first {
            stopped.send(()).unwrap();
            gone.recv().unwrap();
        }
    })
    .unwrap();
    (is_stopped, go)
}

async fn broker_dies(mut log: Log) {
    let mut publisher = log.publisher().await;
    publisher.resume().await.unwrap();
    let (stopped, go) = stop_before_commit();
    let mut next = log.chain.clone();
    let batch = next.grow(3, &mut log.rng);
    // the commit is asked for until the broker is back, or in vain
    let (published, ()) = tokio::join!(publisher.publish(batch), async {
        stopped.await.unwrap();
        log.kafka.kill();
        go.send(()).unwrap();
        log.kafka.restart().await;
    });
    let tip = publisher.resume().await.unwrap();
    match published {
        Ok(()) => assert_eq!(tip, next.tip()),
        Err(PublishError::Unavailable(_)) => assert!(tip == next.tip() || tip == log.chain.tip(), "{tip:?}"),
        Err(error) => panic!("{error}"),
    }
    if tip == next.tip() {
        log.chain = next;
    }
    publisher.publish(log.chain.grow(3, &mut log.rng)).await.unwrap();
    log.check().await;
}

/// A publisher is stopped before it commits; another one takes over, and goes on; the first one wakes up.
async fn late(mut log: Log) {
    let mut first = log.publisher().await;
    first.resume().await.unwrap();
    let (stopped, go) = stop_before_commit();
    let batch = log.chain.clone().grow(3, &mut log.rng);
    let late = tokio::spawn(async move { first.publish(batch).await });
    stopped.await.unwrap();
    let mut second = log.publisher().await;
    assert_eq!(second.resume().await.unwrap(), log.chain.tip());
    second.publish(log.chain.grow(2, &mut log.rng)).await.unwrap();
    go.send(()).unwrap();
    let refused = late.await.unwrap().unwrap_err();
    assert!(matches!(refused, PublishError::Fenced(_)), "{refused}");
    second.publish(log.chain.fork(1, 2, &mut log.rng)).await.unwrap();
    log.check().await;
}
