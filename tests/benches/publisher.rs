//! The publisher on a real Kafka broker, fed decoded blocks; and beside it a bare transactional producer that sends the
//! same records with the same settings.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark ends where something is not as it should be"
)]

mod town;

use mojoscan_chia::{Block, Limits, decode};
use mojoscan_domain::Network;
use mojoscan_engines::kafka::{KafkaConfig, KafkaPublisher, Topics};
use mojoscan_ingestor::IngestorOptions;
use mojoscan_ingestor::source::recording::Recording;
use mojoscan_pipeline::{BlockEvents, BlockSource, PublishBatch, Publisher};
use mojoscan_tests::bench::{Bench, cached};
use mojoscan_tests::engines::Kafka;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Message, OwnedMessage};
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use rdkafka::{Offset, TopicPartitionList};
use std::path::Path;
use std::time::{Duration, Instant};
use town::Town;

/// Blocks of the recording, and coins spent in each: a busy time on the chain.
const BLOCKS: usize = 150;
const SPENDS: usize = 300;
/// How often everything is done, in turns; the shortest times count. The first turn warms up.
const ROUNDS: usize = 6;
const PATIENCE: Duration = Duration::from_secs(30);

fn main() {
    let mut bench = Bench::new("publisher");
    if let Some(missing) = Kafka::missing() {
        bench.skipped("records", &missing);
        return;
    }
    let file = cached("road-1.recording", |file| {
        let (mut town, mut blocks) = Town::found(1);
        blocks.extend((0..BLOCKS).map(|_| town.grow(SPENDS, true)));
        town::record(file, blocks);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure(&mut bench, &file));
}

async fn measure(bench: &mut Bench, file: &Path) {
    let batches = batches(file).await;
    let mut best = (Duration::MAX, Duration::MAX);
    let mut records = 0;
    for round in 0..ROUNDS {
        // each begins with an empty log
        let kafka = Kafka::start().await;
        let config = KafkaConfig::plain(&kafka.address(), 12);
        let topics = Topics::new(Network::Simulator0, &config);
        topics.ensure(&config, Some(1)).await.unwrap();
        let mut publisher = KafkaPublisher::open(&config, &topics).await.unwrap();
        publisher.resume().await.unwrap();
        let feed = batches.clone();
        let started = Instant::now();
        for batch in feed {
            publisher.publish(batch).await.unwrap();
        }
        let ours = started.elapsed();
        drop(publisher);

        let address = kafka.address();
        let transactions = read_back(&address, &topics, batches.len());
        records = transactions.iter().map(Vec::len).sum();
        let kafka = Kafka::start().await;
        topics.ensure(&KafkaConfig::plain(&kafka.address(), 12), Some(1)).await.unwrap();
        let theirs = bare(&kafka.address(), &transactions);
        eprintln!("round {round}: {ours:?} against {theirs:?}, {records} records");
        if round > 0 {
            best = (best.0.min(ours), best.1.min(theirs));
        }
    }
    let rate = |time: Duration| records as f64 / time.as_secs_f64();
    bench.figure("bare transactional producer", rate(best.1), "records/s");
    let ratio = best.1.as_secs_f64() / best.0.as_secs_f64();
    bench.ratio(
        "decoded blocks to committed records",
        rate(best.0),
        "records/s",
        ratio,
        "bare transactional producer",
    );
}

/// The blocks of a recording, decoded, in the batches of an ingestor that catches up.
async fn batches(file: &Path) -> Vec<PublishBatch> {
    let recording = Recording::open(file).unwrap();
    let peak_height = recording.peak().await.unwrap().block.height;
    let options = IngestorOptions::default();
    let (mut batches, mut open, mut events) = (vec![], vec![], 0);
    for bytes in recording.blocks(0, peak_height).await.unwrap() {
        let decoded = decode(&Block::from_bytes(&bytes).unwrap(), &[], Limits::default()).unwrap();
        let block = BlockEvents { header: decoded.header, coins: decoded.events.into_coin_events() };
        events += block.coins.len();
        open.push(block);
        if events >= options.batch_events || open.len() >= options.batch_blocks {
            let blocks = std::mem::take(&mut open);
            batches.push(PublishBatch { rewind: None, blocks, peak_height, heard_at_ms: Some(1) });
            events = 0;
        }
    }
    batches.push(PublishBatch { rewind: None, blocks: open, peak_height, heard_at_ms: Some(1) });
    batches
}

/// Every record of a log, cut into as many transactions as there were.
fn read_back(address: &str, topics: &Topics, transactions: usize) -> Vec<Vec<OwnedMessage>> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", address)
        .set("group.id", "bench")
        .set("isolation.level", "read_committed")
        .set("enable.auto.commit", "false")
        .set("enable.partition.eof", "true")
        .create()
        .unwrap();
    let mut all = vec![];
    let coins =
        (0..topics.coins_partitions.cast_signed()).map(|partition| (topics.coins.as_str(), partition));
    for (topic, partition) in coins.chain([(topics.blocks.as_str(), 0)]) {
        let mut one = TopicPartitionList::new();
        one.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
        consumer.assign(&one).unwrap();
        while let Some(Ok(message)) = consumer.poll(PATIENCE) {
            all.push(message.detach());
        }
    }
    let length = all.len().div_ceil(transactions);
    all.chunks(length).map(<[OwnedMessage]>::to_vec).collect()
}

/// Sends records, transaction by transaction.
fn bare(address: &str, transactions: &[Vec<OwnedMessage>]) -> Duration {
    let producer: ThreadedProducer<DefaultProducerContext> = ClientConfig::new()
        .set("bootstrap.servers", address)
        .set("transactional.id", "bench")
        .set("message.timeout.ms", PATIENCE.as_millis().to_string())
        .set("queue.buffering.max.messages", "200000")
        .set("compression.type", "lz4")
        .set("linger.ms", "1")
        .create()
        .unwrap();
    producer.init_transactions(PATIENCE).unwrap();
    let started = Instant::now();
    for transaction in transactions {
        producer.begin_transaction().unwrap();
        for record in transaction {
            let outgoing = BaseRecord {
                topic: record.topic(),
                partition: Some(record.partition()),
                payload: record.payload(),
                key: record.key(),
                timestamp: None,
                headers: record.headers().cloned(),
                delivery_opaque: (),
            };
            producer.send(outgoing).map_err(|(error, _)| error).unwrap();
        }
        producer.commit_transaction(PATIENCE).unwrap();
    }
    started.elapsed()
}
