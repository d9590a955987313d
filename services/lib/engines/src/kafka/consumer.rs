//! The reading end: one topic, the partitions that the group gives to this consumer, from where its own store stands.
//!
//! What the library tells by callback comes in as [`Event`]s, in one loop with the records. A partition that was
//! assigned is fetched only once its position is known, so that nothing is ever read from anywhere else; what was
//! fetched of a partition that is revoked is dropped.

mod group;
mod offsets;

pub use offsets::GroupOffsets;

use super::client::{is_connection, misconfigured};
use super::headers;
use super::wire::decode_coins;
use super::{KafkaConfig, KafkaUnusable, Topics};
use futures::{FutureExt, StreamExt};
use group::{Event, Group};
use mojoscan_domain::Position;
use mojoscan_domain::record::{CoinEvent, Record, Sequenced};
use mojoscan_pipeline::{Broken, Delivery, LogError, Partition, RecordLog};
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::{Offset, TopicPartitionList};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tracing::{Span, info_span, warn};

/// Records handed on at once.
const DELIVERY_MAX: usize = 4_096;
/// Bytes that the library may fetch ahead.
const FETCHED_KIB_MAX: u32 = 32 * 1_024;
/// Longest time between two looks at the log: longer than a store may be unavailable.
const SILENCE_MAX_MS: u32 = 15 * 60 * 1_000;
/// After this time without a sign of life another consumer is given the partitions.
const SESSION_MS: u32 = 10_000;

/// How often it is said that no broker answers.
const COMPLAIN: Duration = Duration::from_secs(30);

/// The coins topic on Kafka.
pub struct KafkaLog {
    topic: String,
    consumer: Arc<StreamConsumer<Group>>,
    events: mpsc::UnboundedReceiver<Event>,
    /// Assigned partitions whose positions are not all known yet.
    joining: BTreeMap<Partition, Option<Position>>,
    /// Partitions that are read.
    open: BTreeSet<Partition>,
    paused: BTreeSet<Partition>,
    ready: VecDeque<Delivery<CoinEvent>>,
    /// When it was last said that no broker answers.
    complained: Option<Instant>,
}

impl KafkaLog {
    /// Finds the brokers, checks the topics, and joins a group. Each consumer of a group reads some of the partitions.
    ///
    /// # Errors
    /// [`KafkaUnusable`] within fifteen seconds, if a setting is wrong, no broker answers, or the topics are not as they
    /// must be.
    pub async fn open(config: &KafkaConfig, topics: &Topics, group: &str) -> Result<Self, KafkaUnusable> {
        topics.check(config).await?;
        let mut client = config.reader(group)?;
        client
            // others keep what they have while one comes or goes
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("session.timeout.ms", SESSION_MS.to_string())
            .set("heartbeat.interval.ms", (SESSION_MS / 5).to_string())
            .set("max.poll.interval.ms", SILENCE_MAX_MS.to_string())
            .set("queued.max.messages.kbytes", FETCHED_KIB_MAX.to_string())
            .set("fetch.wait.max.ms", "500");
        let (sender, events) = mpsc::unbounded_channel();
        let consumer: StreamConsumer<Group> =
            client.create_with_context(Group::new(sender)).map_err(|error| misconfigured(&error))?;
        consumer.subscribe(&[&topics.coins]).map_err(|error| misconfigured(&error))?;
        Ok(Self {
            topic: topics.coins.clone(),
            consumer: Arc::new(consumer),
            events,
            joining: BTreeMap::new(),
            open: BTreeSet::new(),
            paused: BTreeSet::new(),
            ready: VecDeque::new(),
            complained: None,
        })
    }

    /// What tells the group how far its partitions are applied.
    pub fn offsets(&self) -> GroupOffsets {
        GroupOffsets::new(&self.consumer, &self.topic)
    }

    fn rebalance(&mut self, event: Event) {
        match event {
            Event::Assigned(partitions) => {
                for partition in partitions {
                    self.joining.insert(partition, None);
                    self.ready.push_back(Delivery::Assigned(partition));
                }
            }
            Event::Revoked(partitions) => {
                for partition in partitions {
                    self.joining.remove(&partition);
                    self.open.remove(&partition);
                    self.paused.remove(&partition);
                    self.ready.retain(|delivery| partition_of(delivery) != partition);
                    self.ready.push_back(Delivery::Revoked(partition));
                }
            }
        }
    }

    /// Takes a record, and all that is there behind it.
    fn take(&mut self, first: Result<BorrowedMessage<'_>, KafkaError>) -> Result<(), LogError> {
        let consumer = Arc::clone(&self.consumer);
        let mut more = consumer.stream();
        let mut taken: BTreeMap<Partition, (Vec<Sequenced<CoinEvent>>, Span)> = BTreeMap::new();
        let mut broken = vec![];
        let (mut next, mut count) = (Some(first), 0);
        while let Some(message) = next {
            let message = match message {
                Ok(message) => message,
                Err(error) => {
                    self.survive(&error)?;
                    break;
                }
            };
            let partition = message.partition().cast_unsigned();
            // what was fetched of a partition that was revoked since, or is broken, is dropped
            if self.open.contains(&partition) {
                match read(&message) {
                    Ok(record) => {
                        let (records, span) =
                            taken.entry(partition).or_insert_with(|| (vec![], Span::none()));
                        if let (Record::Watermark(watermark), Some(headers)) =
                            (&record.record, message.headers())
                        {
                            *span = info_span!("read", partition, height = watermark.block.height);
                            headers::extract(span, headers);
                        }
                        records.push(record);
                    }
                    Err(reason) => {
                        self.open.remove(&partition);
                        broken.push((partition, reason));
                    }
                }
            }
            count += 1;
            if count == DELIVERY_MAX {
                break;
            }
            next = more.next().now_or_never().flatten();
        }
        let taken = taken.into_iter();
        self.ready
            .extend(taken.map(|(partition, (records, span))| Delivery::Records(partition, records, span)));
        for (partition, reason) in broken {
            self.consumer.pause(&self.list(partition)).map_err(|error| failed(&error))?;
            self.ready.push_back(Delivery::Broken(partition, reason));
        }
        Ok(())
    }

    /// Goes on after an error that the library deals with by itself.
    fn survive(&mut self, error: &KafkaError) -> Result<(), LogError> {
        let reason = self.consumer.context().trouble.explain(error);
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::NoOffset) => {
                let topic = &self.topic;
                return Err(LogError::Failed(format!(
                    "{topic} does not reach to where the store stands: {reason}"
                )));
            }
            Some(RDKafkaErrorCode::PollExceeded) => {}
            _ if is_connection(error) => {}
            _ => return Err(LogError::Failed(format!("kafka: {reason}"))),
        }
        if self.complained.is_none_or(|at| at.elapsed() >= COMPLAIN) {
            self.complained = Some(Instant::now());
            warn!(topic = self.topic, "{reason}; trying again");
        }
        Ok(())
    }

    /// The next delivery that is not held back.
    fn pop(&mut self) -> Option<Delivery<CoinEvent>> {
        let index = self.ready.iter().position(|delivery| match delivery {
            Delivery::Assigned(_) | Delivery::Revoked(_) => true,
            Delivery::Records(partition, ..) | Delivery::Broken(partition, _) => {
                !self.paused.contains(partition)
            }
        })?;
        self.ready.remove(index)
    }

    fn list(&self, partition: Partition) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        list.add_partition(&self.topic, partition.cast_signed());
        list
    }
}

impl RecordLog for KafkaLog {
    type Event = CoinEvent;

    fn topic(&self) -> &str {
        &self.topic
    }

    async fn next(&mut self) -> Result<Delivery<CoinEvent>, LogError> {
        let consumer = Arc::clone(&self.consumer);
        loop {
            while let Ok(event) = self.events.try_recv() {
                self.rebalance(event);
            }
            if let Some(delivery) = self.pop() {
                return Ok(delivery);
            }
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => self.rebalance(event),
                message = consumer.recv() => self.take(message)?,
            }
        }
    }

    async fn seek(&mut self, partition: Partition, position: Position) -> Result<(), LogError> {
        // revoked in the meantime
        let Some(start) = self.joining.get_mut(&partition) else { return Ok(()) };
        *start = Some(position);
        let known: Option<Vec<_>> =
            self.joining.iter().map(|(partition, at)| Some((*partition, (*at)?))).collect();
        let Some(known) = known else { return Ok(()) };
        let mut assignment = TopicPartitionList::new();
        for (partition, position) in known {
            let offset = Offset::Offset(position.offset.cast_signed());
            assignment
                .add_partition_offset(&self.topic, partition.cast_signed(), offset)
                .map_err(|error| failed(&error))?;
            self.open.insert(partition);
        }
        self.joining.clear();
        self.consumer.context().answer(&*self.consumer, &assignment).map_err(|error| failed(&error))
    }

    fn pause(&mut self, partition: Partition) -> Result<(), LogError> {
        if self.open.contains(&partition) && self.paused.insert(partition) {
            self.consumer.pause(&self.list(partition)).map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    fn resume(&mut self, partition: Partition) -> Result<(), LogError> {
        if self.paused.remove(&partition) {
            self.consumer.resume(&self.list(partition)).map_err(|error| failed(&error))?;
        }
        Ok(())
    }
}

impl Drop for KafkaLog {
    fn drop(&mut self) {
        self.consumer.context().leave(&*self.consumer);
    }
}

/// The partition a delivery is about.
const fn partition_of(delivery: &Delivery<CoinEvent>) -> Partition {
    match delivery {
        Delivery::Assigned(partition)
        | Delivery::Revoked(partition)
        | Delivery::Records(partition, ..)
        | Delivery::Broken(partition, _) => *partition,
    }
}

fn read(message: &BorrowedMessage<'_>) -> Result<Sequenced<CoinEvent>, Broken> {
    let offset = message.offset().cast_unsigned();
    decode_coins(offset, message.payload().unwrap_or_default())
        .map_err(|error| Broken { offset, reason: error.to_string() })
}

fn failed(error: &KafkaError) -> LogError {
    LogError::Failed(format!("kafka: {error}"))
}
