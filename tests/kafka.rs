//! The record log on a real Kafka broker.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

#[path = "kafka/logins.rs"]
mod logins;

use fastrand::Rng;
use mojoscan_domain::{Network, Position};
use mojoscan_engines::kafka::{KafkaConfig, KafkaLog, KafkaPublisher, KafkaUnusable, Topics};
use mojoscan_pipeline::runner::{Progress, ProgressMap, State};
use mojoscan_pipeline::{Delivery, Partition, PublishError, Publisher, RecordLog};
use mojoscan_tests::engines::{Kafka, free_port};
use mojoscan_tests::forger::Forger;
use mojoscan_tests::record_log::{Published, Reader, Shelf, suite};
use mojoscan_tests::trial::{self, Need};
use mojoscan_tests::{seeds, wait};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message};
use rdkafka::{Offset, TopicPartitionList};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Partitions of the coins topic.
const PARTITIONS: u32 = 5;
/// How soon it must be said that the log cannot be used.
const SOON: Duration = Duration::from_secs(15);

fn main() {
    let need = Need { name: "kafka", missing: Kafka::missing(), in_ci: true };
    trial::run(
        &need,
        &[
            ("it_does_what_every_log_does", || run(conformance())),
            ("topics_are_made_checked_and_never_altered", || run(topics())),
            ("whatever_is_wrong_is_said_in_one_line_soon", || run(unusable())),
            ("passwords_and_certificates_are_used", || run(logins::are_used())),
            ("both_ends_go_on_where_they_were", || run(restarts())),
            ("the_publisher_that_came_last_survives", || run(two_publishers())),
            ("a_broker_that_dies_loses_and_doubles_nothing", || run(broker_dies())),
            ("partitions_move_between_consumers", || run(rebalance())),
            ("a_partition_that_is_paused_waits", || run(paused())),
            ("a_record_that_makes_no_sense_stops_its_partition", || run(poison())),
            ("records_carry_who_they_are", || run(headers())),
            ("a_group_is_told_how_far_it_is", || run(lag())),
        ],
    );
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(test);
}

fn rng() -> Rng {
    Rng::with_seed(seeds::some(1).next().unwrap())
}

/// A broker with empty topics.
struct Log {
    kafka: Kafka,
    config: KafkaConfig,
    topics: Topics,
}

impl Log {
    async fn start() -> Self {
        let kafka = Kafka::start().await;
        let config = KafkaConfig::plain(&kafka.address(), PARTITIONS);
        let topics = Topics::new(Network::Simulator0, &config);
        topics.ensure(&config, Some(1)).await.unwrap();
        Self { kafka, config, topics }
    }

    async fn publisher(&self) -> KafkaPublisher {
        KafkaPublisher::open(&self.config, &self.topics).await.unwrap()
    }

    async fn log(&self) -> KafkaLog {
        KafkaLog::open(&self.config, &self.topics, "test").await.unwrap()
    }

    /// What a reader finds that begins at the beginning.
    async fn check(&self, chain: &Published) {
        let shelf = Shelf::default();
        let log = KafkaLog::open(&self.config, &self.topics, "check").await.unwrap();
        let reader = Reader::start(log, &shelf);
        shelf.reach(0..PARTITIONS, chain.tip()).await;
        assert_eq!(shelf.events(), chain.events());
        reader.stop().await;
    }
}

async fn conformance() {
    let log = Log::start().await;
    let (mut publisher, reading) = (log.publisher().await, log.log().await);
    suite(&mut publisher, reading, PARTITIONS, &mut rng()).await.unwrap();
}

fn admin(kafka: &Kafka) -> AdminClient<DefaultClientContext> {
    ClientConfig::new().set("bootstrap.servers", kafka.address()).create().unwrap()
}

async fn topics() {
    let kafka = Kafka::start().await;
    let config = KafkaConfig::plain(&kafka.address(), PARTITIONS);
    let topics = Topics::new(Network::Simulator0, &config);
    let missing = topics.check(&config).await.unwrap_err().to_string();
    assert!(missing.contains("simulator0.coins.v1 is missing"), "{missing}");
    assert!(missing.contains("simulator0.blocks.v1 is missing"), "{missing}");

    let (one, other) = tokio::join!(topics.ensure(&config, Some(1)), topics.ensure(&config, Some(1)));
    assert!(one.unwrap().iter().all(|ensured| ensured.made));
    other.unwrap();
    assert!(topics.ensure(&config, Some(1)).await.unwrap().iter().all(|ensured| !ensured.made));
    let cluster = topics.check(&config).await.unwrap();
    assert!(!cluster.is_empty());
    let wrong = topics.ensure(&config, Some(3)).await.unwrap_err().to_string();
    assert!(wrong.contains("simulator0.blocks.v1 has a partition that 1 brokers keep, not 3"), "{wrong}");

    // what somebody else has made
    let testnet = Topics::new(Network::Testnet11, &config);
    let partitions = PARTITIONS.cast_signed();
    let made = NewTopic::new(&testnet.coins, partitions, TopicReplication::Fixed(1))
        .set("cleanup.policy", "compact")
        .set("retention.ms", "1000");
    let admin = admin(&kafka);
    admin.create_topics(&[made], &AdminOptions::new()).await.unwrap();
    let wrong = testnet.ensure(&config, Some(1)).await.unwrap_err().to_string();
    assert!(wrong.contains("cleanup.policy=compact, not delete"), "{wrong}");
    assert!(wrong.contains("retention.ms=1000, not -1"), "{wrong}");
    assert_eq!(testnet.ensure(&config, Some(1)).await.unwrap_err().to_string(), wrong);

    let more = NewPartitions::new(&topics.coins, PARTITIONS as usize + 1);
    admin.create_partitions(&[more], &AdminOptions::new()).await.unwrap();
    wait::until("the partition to appear", async || topics.check(&config).await.err()).await;
    let wrong = topics.ensure(&config, Some(1)).await.unwrap_err().to_string();
    assert_eq!(wrong, "simulator0.coins.v1 has 6 partitions, not 5");
}

async fn unusable() {
    let Log { kafka, config, topics } = Log::start().await;
    let open = async |config: &KafkaConfig, topics: &Topics| -> (String, String) {
        let since = Instant::now();
        let (publisher, log) =
            tokio::join!(KafkaPublisher::open(config, topics), KafkaLog::open(config, topics, "test"));
        assert!(since.elapsed() < SOON);
        (publisher.err().unwrap().to_string(), log.err().unwrap().to_string())
    };
    let nowhere = KafkaConfig::plain(&format!("127.0.0.1:{}", free_port()), PARTITIONS);
    let said = open(&nowhere, &topics).await;
    assert!(said.0.contains(&nowhere.kafka) && said.0.contains("Connection refused"), "{}", said.0);
    assert_eq!(said.0.lines().count(), 1);

    let nobody = KafkaConfig::plain("no-such-host.invalid:9092", PARTITIONS);
    let said = open(&nobody, &topics).await;
    assert!(said.1.contains("no-such-host.invalid"), "{}", said.1);

    let said = open(&config, &Topics::new(Network::Mainnet, &config)).await;
    assert!(said.0.contains("mainnet.coins.v1 is missing"), "{}", said.0);

    let more = KafkaConfig::plain(&kafka.address(), PARTITIONS + 1);
    let said = open(&more, &Topics::new(Network::Simulator0, &more)).await;
    assert_eq!(said.1, "simulator0.coins.v1 has 5 partitions, not 6");

    let unreadable = KafkaConfig { kafka_tls: true, kafka_ca: Some("/nothing/here".into()), ..config };
    let refused = KafkaPublisher::open(&unreadable, &topics).await.err().unwrap();
    assert!(
        matches!(&refused, KafkaUnusable::Config(reason) if reason.contains("/nothing/here")),
        "{refused}"
    );
}

async fn restarts() {
    let (log, mut rng) = (Log::start().await, rng());
    let (shelf, mut chain) = (Shelf::default(), Published::default());
    for round in 0..4 {
        let mut publisher = log.publisher().await;
        assert_eq!(publisher.resume().await.unwrap(), chain.tip());
        publisher.publish(chain.grow(5, &mut rng)).await.unwrap();
        // what was heard leaves no block behind
        publisher.publish(chain.heard(round)).await.unwrap();
        publisher.publish(chain.heard(round)).await.unwrap();
        let reader = Reader::start(log.log().await, &shelf);
        shelf.reach(0..PARTITIONS, chain.tip()).await;
        publisher.publish(chain.fork(3, 2, &mut rng)).await.unwrap();
        if round == 2 {
            publisher.publish(chain.fork(1, 0, &mut rng)).await.unwrap();
        }
        drop(publisher);
        shelf.reach(0..PARTITIONS, chain.tip()).await;
        assert_eq!(shelf.events(), chain.events());
        reader.stop().await;
    }
    log.check(&chain).await;
}

async fn two_publishers() {
    let (log, mut rng) = (Log::start().await, rng());
    let mut chain = Published::default();
    let (mut first, mut second) = (log.publisher().await, log.publisher().await);
    first.resume().await.unwrap();
    first.publish(chain.grow(3, &mut rng)).await.unwrap();
    assert_eq!(second.resume().await.unwrap(), chain.tip());
    let refused = first.publish(chain.clone().grow(1, &mut rng)).await.unwrap_err();
    assert!(matches!(refused, PublishError::Fenced(_)), "{refused}");
    second.publish(chain.grow(3, &mut rng)).await.unwrap();
    log.check(&chain).await;

    // at once, again and again: one is left, and it has published everything
    for _ in 0..3 {
        let (one, other) = tokio::join!(
            contend(log.publisher().await, chain.clone(), rng.fork()),
            contend(log.publisher().await, chain.clone(), rng.fork())
        );
        let left: Vec<_> = [one, other].into_iter().flatten().collect();
        assert_eq!(left.len(), 1, "one is left");
        // the other may have published before it was shut out
        let last = left.into_iter().next().unwrap();
        let mut publisher = log.publisher().await;
        assert_eq!(publisher.resume().await.unwrap(), last.tip());
        chain = last;
        log.check(&chain).await;
    }
}

/// Publishes some blocks; gives the chain unless it is shut out.
async fn contend(mut publisher: KafkaPublisher, mut chain: Published, mut rng: Rng) -> Option<Published> {
    let resumed = publisher.resume().await;
    let tip = match resumed {
        Ok(tip) => tip,
        Err(PublishError::Fenced(_)) => return None,
        Err(error) => panic!("{error}"),
    };
    if tip != chain.tip() {
        // the other was first, and its blocks are not known here: void them, as an ingestor on another chain does
        let rewind = chain.fork(0, 0, &mut rng);
        publisher.publish(rewind).await.unwrap();
    }
    for _ in 0..5 {
        match publisher.publish(chain.grow(1, &mut rng)).await {
            Ok(()) => {}
            Err(PublishError::Fenced(_)) => return None,
            Err(error) => panic!("{error}"),
        }
    }
    Some(chain)
}

async fn broker_dies() {
    let (mut log, mut rng) = (Log::start().await, rng());
    let (shelf, mut chain) = (Shelf::default(), Published::default());
    let reader = Reader::start(log.log().await, &shelf);
    let mut publisher = log.publisher().await;
    publisher.resume().await.unwrap();
    let (blocks, published) = watch::channel(0);
    let work = tokio::spawn(async move {
        // so many blocks, whatever happens meanwhile
        while chain.blocks.len() < 600 {
            let mut next = chain.clone();
            let batch = if rng.u8(..5) == 0 && !chain.blocks.is_empty() {
                next.fork(1, 3, &mut rng)
            } else {
                next.grow(2, &mut rng)
            };
            match publisher.publish(batch).await {
                Ok(()) => chain = next,
                Err(PublishError::Unavailable(_)) => loop {
                    match publisher.resume().await {
                        Ok(tip) if tip == next.tip() => break chain = next,
                        Ok(tip) => break assert_eq!(tip, chain.tip(), "half of a batch"),
                        Err(PublishError::Unavailable(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                },
                Err(error) => panic!("{error}"),
            }
            blocks.send_replace(chain.blocks.len());
        }
        (publisher, chain)
    });
    for at in [50, 250, 450] {
        published.clone().wait_for(|blocks| *blocks >= at).await.unwrap();
        log.kafka.kill();
        log.kafka.restart().await;
    }
    let (mut publisher, chain) = work.await.unwrap();
    assert_eq!(publisher.resume().await.unwrap(), chain.tip());
    shelf.reach(0..PARTITIONS, chain.tip()).await;
    assert_eq!(shelf.events(), chain.events());
    reader.stop().await;
    log.check(&chain).await;
}

async fn rebalance() {
    let (log, mut rng) = (Log::start().await, rng());
    let (shelf, mut chain) = (Shelf::default(), Published::default());
    let mut publisher = log.publisher().await;
    publisher.resume().await.unwrap();
    let first = Reader::start(log.log().await, &shelf);
    for _ in 0..4 {
        publisher.publish(chain.grow(20, &mut rng)).await.unwrap();
        let second = Reader::start(log.log().await, &shelf);
        publisher.publish(chain.fork(7, 10, &mut rng)).await.unwrap();
        wait::until("both to read", async || (first.open() > 0 && second.open() > 0).then_some(())).await;
        publisher.publish(chain.grow(3, &mut rng)).await.unwrap();
        shelf.reach(0..PARTITIONS, chain.tip()).await;
        assert_eq!(first.open() + second.open(), PARTITIONS as usize);
        publisher.publish(chain.grow(3, &mut rng)).await.unwrap();
        second.stop().await;
        wait::until("one to read all", async || (first.open() == PARTITIONS as usize).then_some(())).await;
    }
    shelf.reach(0..PARTITIONS, chain.tip()).await;
    assert_eq!(shelf.events(), chain.events());
    first.stop().await;
}

/// The next records of a log, by partition.
async fn records(log: &mut KafkaLog) -> (Partition, Vec<u64>) {
    loop {
        match tokio::time::timeout(SOON, log.next()).await.unwrap().unwrap() {
            Delivery::Assigned(partition) => log.seek(partition, Position::START).await.unwrap(),
            Delivery::Records(partition, records, _) => {
                return (partition, records.iter().map(|record| record.seq).collect());
            }
            other => panic!("{other:?}"),
        }
    }
}

async fn paused() {
    let (log, mut rng) = (Log::start().await, rng());
    let (mut chain, mut reading) = (Published::default(), log.log().await);
    let mut publisher = log.publisher().await;
    publisher.resume().await.unwrap();
    let mut seen: BTreeMap<Partition, Vec<u64>> = BTreeMap::new();
    let mut last = BTreeMap::new();
    publisher.publish(chain.grow(1, &mut rng)).await.unwrap();
    while seen.len() < PARTITIONS as usize {
        let (partition, seqs) = records(&mut reading).await;
        seen.entry(partition).or_default().extend(seqs);
    }
    reading.pause(2).unwrap();
    let before = seen[&2].len();
    for _ in 0..20 {
        publisher.publish(chain.grow(1, &mut rng)).await.unwrap();
    }
    // the last watermark of each partition that goes on is its last record
    let ends = ends(&log, PARTITIONS);
    while (0..PARTITIONS)
        .filter(|partition| *partition != 2)
        .any(|partition| last.get(&partition) != Some(&ends[&partition]))
    {
        let (partition, seqs) = records(&mut reading).await;
        assert_ne!(partition, 2, "it is paused");
        last.insert(partition, *seqs.last().unwrap());
        seen.entry(partition).or_default().extend(seqs);
    }
    reading.resume(2).unwrap();
    while last.get(&2) != Some(&ends[&2]) {
        let (partition, seqs) = records(&mut reading).await;
        assert_eq!(partition, 2);
        last.insert(partition, *seqs.last().unwrap());
        seen.entry(partition).or_default().extend(seqs);
    }
    assert!(seen[&2].len() > before + 15);
    for (partition, seqs) in seen {
        assert!(seqs.iter().copied().eq(1..=ends[&partition]), "{partition}: {seqs:?}");
    }
}

/// A client that knows nothing of our rules.
fn stranger(log: &Log) -> BaseConsumer {
    ClientConfig::new()
        .set("bootstrap.servers", log.kafka.address())
        .set("group.id", "stranger")
        .set("isolation.level", "read_committed")
        .set("enable.auto.commit", "false")
        .set("enable.partition.eof", "true")
        .create()
        .unwrap()
}

/// The number of the last record of each partition: there is no other way than to count them.
fn ends(log: &Log, partitions: u32) -> BTreeMap<Partition, u64> {
    let consumer = stranger(log);
    let mut all = TopicPartitionList::new();
    for partition in 0..partitions.cast_signed() {
        all.add_partition_offset(&log.topics.coins, partition, Offset::Beginning).unwrap();
    }
    consumer.assign(&all).unwrap();
    let (mut ends, mut finished) = (BTreeMap::new(), 0);
    while finished < partitions {
        match consumer.poll(SOON) {
            Some(Ok(message)) => *ends.entry(message.partition().cast_unsigned()).or_default() += 1,
            Some(Err(rdkafka::error::KafkaError::PartitionEOF(_))) => finished += 1,
            Some(Err(error)) => panic!("{error}"),
            None => panic!("nothing comes"),
        }
    }
    ends
}

/// What makes no sense, what leaves a gap, what stands before its time. Partitions without any of it go on.
async fn poison() {
    let (log, mut rng) = (Log::start().await, rng());
    let (shelf, mut chain) = (Shelf::default(), Published::default());
    let mut publisher = log.publisher().await;
    publisher.resume().await.unwrap();
    publisher.publish(chain.grow(10, &mut rng)).await.unwrap();
    let reader = Reader::start(log.log().await, &shelf);
    shelf.reach(0..PARTITIONS, chain.tip()).await;
    let tip = chain.tip();

    let forger = Forger::new(&log.kafka.address(), &log.topics.coins);
    let number = |partition, more: u64| shelf.position(partition).seq + more;
    let senseless = forger.put(1, b"\xff\xff not a record").await;
    let gap = forger.put_watermark(2, shelf.position(2), number(2, 7)).await;
    // the two of them changed places
    let early = forger.put_watermark(3, shelf.position(3), number(3, 2)).await;
    forger.put_watermark(3, shelf.position(3), number(3, 1)).await;
    let due = |partition, more| format!("sequence number {} where", number(partition, more));
    for (partition, offset, reason) in
        [(1, senseless, "not a record".to_owned()), (2, gap, due(2, 7)), (3, early, due(3, 2))]
    {
        let broken = shelf.broken(partition).await;
        assert_eq!(broken.offset, offset, "{broken}");
        assert!(broken.reason.contains(&reason), "{broken}");
    }

    publisher.publish(chain.grow(10, &mut rng)).await.unwrap();
    shelf.reach([0, 4], chain.tip()).await;
    for partition in 1..=3 {
        assert_eq!(shelf.position(partition).block, tip);
    }
    reader.stop().await;
}

async fn headers() {
    let (log, mut rng) = (Log::start().await, rng());
    let mut chain = Published::default();
    let mut publisher = log.publisher().await;
    publisher.resume().await.unwrap();
    publisher.publish(chain.grow(20, &mut rng)).await.unwrap();
    publisher.publish(chain.heard(1)).await.unwrap();
    publisher.publish(chain.fork(1, 1, &mut rng)).await.unwrap();
    let consumer = stranger(&log);
    let mut all = TopicPartitionList::new();
    for partition in 0..PARTITIONS.cast_signed() {
        all.add_partition_offset(&log.topics.coins, partition, Offset::Beginning).unwrap();
    }
    all.add_partition_offset(&log.topics.blocks, 0, Offset::Beginning).unwrap();
    consumer.assign(&all).unwrap();
    let (mut finished, mut kinds, mut ids) = (0, BTreeMap::new(), 0);
    let mut seen = std::collections::BTreeSet::new();
    while finished < PARTITIONS + 1 {
        let message = match consumer.poll(SOON) {
            Some(Ok(message)) => message,
            Some(Err(rdkafka::error::KafkaError::PartitionEOF(_))) => {
                finished += 1;
                continue;
            }
            other => panic!("{other:?}"),
        };
        let headers: BTreeMap<_, _> = message
            .headers()
            .unwrap()
            .iter()
            .map(|header| (header.key, std::str::from_utf8(header.value.unwrap()).unwrap()))
            .collect();
        assert_eq!(headers["ce_specversion"], "1.0");
        assert_eq!(headers["ce_source"], "/mojoscan/simulator0");
        assert_eq!(headers["content-type"], "application/protobuf");
        let kind = headers["ce_type"].to_owned();
        let created = kind == "mojoscan.coins.v1.CoinCreated";
        assert_eq!(message.key().map(<[u8]>::len), created.then_some(32));
        *kinds.entry(kind).or_insert(0) += 1;
        ids += 1;
        assert!(seen.insert(headers["ce_id"].to_owned()), "{headers:?} is not the only one");
    }
    assert_eq!(seen.len(), ids);
    let count = |kind: &str| kinds.get(kind).copied().unwrap_or_default();
    assert_eq!(count("mojoscan.blocks.v1.BlockApplied"), 21);
    assert_eq!(count("mojoscan.blocks.v1.Rewind"), 1);
    assert_eq!(count("mojoscan.coins.v1.Watermark"), 3 * PARTITIONS);
    assert_eq!(count("mojoscan.coins.v1.Rewind"), PARTITIONS);
    assert!(count("mojoscan.coins.v1.CoinCreated") > 0);
}

async fn lag() {
    let (log, mut rng) = (Log::start().await, rng());
    let (mut chain, mut reading) = (Published::default(), log.log().await);
    let mut publisher = log.publisher().await;
    publisher.resume().await.unwrap();
    publisher.publish(chain.grow(1, &mut rng)).await.unwrap();
    records(&mut reading).await;
    let (sender, progress) = watch::channel(ProgressMap::new());
    let telling = tokio::spawn(reading.offsets().follow(progress));
    let position = Position { offset: 3, ..Position::START };
    sender.send_modify(|all| {
        drop(all.insert(4, Progress { position, watermark: None, state: State::Running }))
    });
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", log.kafka.address())
        .set("group.id", "test")
        .create()
        .unwrap();
    wait::until("the group's offset", async || {
        let mut asked = TopicPartitionList::new();
        asked.add_partition(&log.topics.coins, 4);
        let told = consumer.committed_offsets(asked, SOON).unwrap();
        (told.elements()[0].offset() == Offset::Offset(3)).then_some(())
    })
    .await;
    drop(reading);
    // a change that nobody can be told of any more
    sender.send_modify(ProgressMap::clear);
    tokio::time::timeout(SOON, telling).await.unwrap().unwrap();
}
