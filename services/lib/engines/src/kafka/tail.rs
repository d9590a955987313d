//! Reads what stands in the log, by offset: its end, and stretches further back.

use super::client::{PATIENCE, Trouble, misconfigured};
use super::{KafkaConfig, KafkaUnusable};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

/// Offsets looked at first for the last record of a partition: it and the marks of its transaction.
const LOOK_BACK: i64 = 4;
/// How many times more are looked at next, where nothing was committed among those.
const LOOK_FURTHER: i64 = 16;

/// Reads single partitions. Every call blocks.
pub(super) struct Tail {
    consumer: BaseConsumer<Trouble>,
    trouble: Trouble,
}

impl Tail {
    pub(super) fn new(config: &KafkaConfig, group: &str) -> Result<Self, KafkaUnusable> {
        let trouble = Trouble::default();
        let mut client = config.reader(group)?;
        client.set("enable.partition.eof", "true");
        let consumer = client.create_with_context(trouble.clone()).map_err(|error| misconfigured(&error))?;
        Ok(Self { consumer, trouble })
    }

    pub(super) fn explain(&self, error: &KafkaError) -> String {
        self.trouble.explain(error)
    }

    /// The last committed record of each partition, from 0; none of one that has none.
    pub(super) fn last_records(
        &self,
        topic: &str,
        partitions: u32,
    ) -> Result<Vec<Option<Vec<u8>>>, KafkaError> {
        let mut last = BTreeMap::new();
        let mut stretches = vec![];
        for partition in 0..partitions.cast_signed() {
            let ends = self.consumer.fetch_watermarks(topic, partition, PATIENCE)?;
            stretches.push((partition, ends, LOOK_BACK));
        }
        while !stretches.is_empty() {
            let ranges = stretches
                .iter()
                .map(|&(partition, (low, high), back)| (partition, low.max(high - back)..high));
            self.read(topic, &ranges.collect(), |message| {
                last.insert(message.partition(), message.payload().unwrap_or_default().to_vec());
            })?;
            stretches.retain_mut(|(partition, (low, high), back)| {
                let at_start = *high - *back <= *low;
                *back *= LOOK_FURTHER;
                !at_start && !last.contains_key(partition)
            });
        }
        Ok((0..partitions.cast_signed()).map(|partition| last.remove(&partition)).collect())
    }

    /// Where a partition ends now.
    pub(super) fn end(&self, topic: &str, partition: i32) -> Result<i64, KafkaError> {
        Ok(self.consumer.fetch_watermarks(topic, partition, PATIENCE)?.1)
    }

    /// Hands over every committed record of these stretches, each partition's in order.
    pub(super) fn read(
        &self,
        topic: &str,
        ranges: &BTreeMap<i32, Range<i64>>,
        mut each: impl FnMut(&rdkafka::message::BorrowedMessage<'_>),
    ) -> Result<(), KafkaError> {
        let mut open: BTreeMap<i32, i64> = ranges
            .iter()
            .filter(|(_, range)| !range.is_empty())
            .map(|(partition, range)| (*partition, range.end))
            .collect();
        let mut assignment = TopicPartitionList::new();
        for partition in open.keys() {
            assignment.add_partition_offset(topic, *partition, Offset::Offset(ranges[partition].start))?;
        }
        self.consumer.assign(&assignment)?;
        let mut end = Instant::now() + PATIENCE;
        while !open.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            match self.consumer.poll(left) {
                // at the end of what is committed, or behind the stretch
                Some(Err(KafkaError::PartitionEOF(partition))) => drop(open.remove(&partition)),
                Some(Ok(message)) => {
                    end = Instant::now() + PATIENCE;
                    match open.get(&message.partition()) {
                        Some(end) if message.offset() < *end => each(&message),
                        _ => drop(open.remove(&message.partition())),
                    }
                }
                Some(Err(error)) if !super::client::is_connection(&error) => return Err(error),
                Some(Err(_)) => {}
                None => {}
            }
            if Instant::now() >= end {
                return Err(KafkaError::MessageConsumption(RDKafkaErrorCode::OperationTimedOut));
            }
        }
        self.consumer.unassign()
    }
}
