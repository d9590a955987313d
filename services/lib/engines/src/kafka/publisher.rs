//! The writing end: a batch is a transaction over every partition of every topic.
//!
//! Whatever fails with an outcome that is not known ends the producer. The next one settles what the last has left, and
//! reads from the log itself where it stands: never from memory.

mod history;
mod producer;
mod sequencer;

use super::client::{blocking, is_connection};
use super::tail::Tail;
use super::wire::{Block, Unreadable, decode_blocks, decode_coins};
use super::{KafkaConfig, KafkaUnusable, Topics};
use history::Lookback;
use mojoscan_domain::BlockId;
use mojoscan_domain::record::Record;
use mojoscan_pipeline::{PublishBatch, PublishError, Publisher};
use producer::Producer;
use rdkafka::error::KafkaError;
use sequencer::Ends;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tracing::Span;

/// The writing end of the record log on Kafka. There is one: another one that starts shuts this one out.
pub struct KafkaPublisher {
    shared: Arc<Shared>,
    /// There after [`Publisher::resume`], until something fails.
    live: Option<Live>,
}

struct Shared {
    config: KafkaConfig,
    topics: Topics,
    tail: Tail,
    lookback: Mutex<Lookback>,
}

struct Live {
    producer: Producer,
    ends: Ends,
}

impl KafkaPublisher {
    /// Finds the brokers, and checks the topics.
    ///
    /// # Errors
    /// [`KafkaUnusable`] within fifteen seconds, if a setting is wrong, no broker answers, or the topics are not as they
    /// must be.
    pub async fn open(config: &KafkaConfig, topics: &Topics) -> Result<Self, KafkaUnusable> {
        topics.check(config).await?;
        let tail = Tail::new(config, &format!("{}-ingestor", topics.network))?;
        let (config, topics, lookback) = (config.clone(), topics.clone(), Mutex::default());
        Ok(Self { shared: Arc::new(Shared { config, topics, tail, lookback }), live: None })
    }
}

impl Publisher for KafkaPublisher {
    async fn resume(&mut self) -> Result<Option<BlockId>, PublishError> {
        let (last, shared) = (self.live.take(), Arc::clone(&self.shared));
        let live = blocking(move || {
            drop(last);
            shared.resume()
        });
        let live = live.await?;
        Ok(self.live.insert(live).ends.block)
    }

    async fn find_previous(&mut self, block: BlockId) -> Result<Option<BlockId>, PublishError> {
        let shared = Arc::clone(&self.shared);
        blocking(move || shared.find_previous(block)).await
    }

    async fn publish(&mut self, batch: PublishBatch) -> Result<(), PublishError> {
        let nothing = || PublishError::Unavailable("the last attempt has failed: resume first".to_owned());
        let (live, shared) = (self.live.take().ok_or_else(nothing)?, Arc::clone(&self.shared));
        let span = Span::current();
        let live = blocking(move || span.in_scope(|| shared.publish(live, &batch)));
        self.live = Some(live.await?);
        Ok(())
    }
}

impl Shared {
    /// Publishes a batch. The producer is gone after an error.
    fn publish(&self, mut live: Live, batch: &PublishBatch) -> Result<Live, PublishError> {
        let ends = &mut live.ends;
        if batch.blocks.is_empty() && batch.rewind.is_none() && ends.block.is_none() {
            return Ok(live);
        }
        live.producer.transaction(|send| ends.append(batch, send), &self.topics)?;
        let mut lookback = self.lookback();
        for block in &batch.blocks {
            lookback.committed(block.header.id, block.header.previous());
        }
        drop(lookback);
        Ok(live)
    }

    fn lookback(&self) -> MutexGuard<'_, Lookback> {
        // it is never left half-changed
        self.lookback.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resume(&self) -> Result<Live, PublishError> {
        let producer = Producer::new(&self.config, &self.topics)
            .map_err(|error| PublishError::Broken(error.to_string()))?;
        producer.take_over()?;
        self.lookback().forget();
        // only now: nobody else can move the ends any more
        let ends = self.ends()?;
        Ok(Live { producer, ends })
    }

    /// Reads where the log stands from the last record of every partition, which must agree.
    fn ends(&self) -> Result<Ends, PublishError> {
        let topics = &self.topics;
        let coins = self.tail.last_records(&topics.coins, topics.coins_partitions);
        let coins = coins.map_err(|error| self.failure(&error))?;
        let blocks = self.tail.last_records(&topics.blocks, 1).map_err(|error| self.failure(&error))?;
        let mut ends = self.blocks_end(blocks.first().and_then(Option::as_deref))?;
        for (partition, payload) in coins.iter().enumerate() {
            let (epoch, block, seq) = match payload.as_deref() {
                Some(payload) => coins_end(payload)?,
                None => (0, None, 0),
            };
            if (epoch, block) != (ends.epoch, ends.block) {
                let (coins, there, here) = (&topics.coins, name(block), name(ends.block));
                return Err(PublishError::Broken(format!(
                    "{coins}/{partition} ends at {there} in epoch {epoch}, but {} at {here} in epoch {}: records are lost",
                    topics.blocks, ends.epoch
                )));
            }
            ends.coins.push(seq);
        }
        Ok(ends)
    }

    fn blocks_end(&self, payload: Option<&[u8]>) -> Result<Ends, PublishError> {
        let Some(payload) = payload else {
            return Ok(Ends { epoch: 0, block: None, coins: vec![], blocks: 0 });
        };
        let entry = decode_blocks(payload).map_err(|error| broken(&error))?;
        let block = match entry.block {
            Block::Rewound { to } => to,
            Block::Applied { id, coins_partitions, .. } => {
                let (there, topic) = (self.topics.coins_partitions as usize, &self.topics.coins);
                if coins_partitions != there {
                    return Err(PublishError::Broken(format!(
                        "{topic} has {there} partitions, but was written with {coins_partitions}"
                    )));
                }
                Some(id)
            }
        };
        Ok(Ends { epoch: entry.epoch, block, coins: vec![], blocks: entry.seq })
    }

    fn find_previous(&self, block: BlockId) -> Result<Option<BlockId>, PublishError> {
        self.lookback().find_previous(block, &self.tail, &self.topics.blocks).map_err(|error| match error {
            history::Failed::Kafka(error) => self.failure(&error),
            history::Failed::Unreadable(error) => broken(&error),
        })
    }

    fn failure(&self, error: &KafkaError) -> PublishError {
        let reason = format!("kafka: {}", self.tail.explain(error));
        if is_connection(error) { PublishError::Unavailable(reason) } else { PublishError::Broken(reason) }
    }
}

/// Epoch, block and sequence number that a partition of the coins topic ends with.
fn coins_end(payload: &[u8]) -> Result<(u64, Option<BlockId>, u64), PublishError> {
    let last = decode_coins(0, payload).map_err(|error| broken(&error))?;
    let block = match last.record {
        Record::Watermark(watermark) => Some(watermark.block),
        Record::Rewind(rewind) => rewind.to,
        Record::Event(place, _) => {
            return Err(PublishError::Broken(format!("the log ends within block {}", place.block)));
        }
    };
    Ok((last.epoch, block, last.seq))
}

fn broken(error: &Unreadable) -> PublishError {
    PublishError::Broken(format!("the end of the log: {error}"))
}

fn name(block: Option<BlockId>) -> String {
    block.map_or_else(|| "the beginning".to_owned(), |block| format!("block {block}"))
}
