//! Somebody else who writes into the log.

use mojoscan_domain::{BlockId, Position};
use mojoscan_proto::coins::v1::{CoinsRecord, Watermark, coins_record};
use mojoscan_proto::common::v1 as common;
use prost::Message;
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord};
use std::time::Duration;

/// How long the broker may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A producer that knows nothing of our rules.
pub struct Forger {
    producer: FutureProducer,
    topic: String,
}

impl Forger {
    /// Writes into a topic.
    pub fn new(broker: &str, topic: &str) -> Self {
        let producer = ClientConfig::new().set("bootstrap.servers", broker).create().unwrap();
        Self { producer, topic: topic.to_owned() }
    }

    /// Puts bytes into a partition, and gives their offset.
    pub async fn put(&self, partition: u32, payload: &[u8]) -> u64 {
        let record =
            FutureRecord::<(), _>::to(&self.topic).partition(partition.cast_signed()).payload(payload);
        self.producer.send(record, PATIENCE).await.unwrap().offset.cast_unsigned()
    }

    /// Puts a watermark into a partition, and gives its offset. All of it is right where its number is the next one.
    pub async fn put_watermark(&self, partition: u32, at: Position, seq: u64) -> u64 {
        let id =
            |block: BlockId| common::BlockId { height: block.height, hash: block.hash.to_bytes().into() };
        let block = at.block.map(id);
        let peak_height = at.block.map_or(0, |block| block.height);
        let watermark =
            Watermark { block: block.clone(), previous: block, peak_height, heard_at_ms: Some(1) };
        let record =
            CoinsRecord { epoch: at.epoch, seq, record: Some(coins_record::Record::Watermark(watermark)) };
        self.put(partition, &record.encode_to_vec()).await
    }
}
