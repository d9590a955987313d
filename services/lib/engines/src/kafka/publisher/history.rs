//! Looks back through the blocks topic for the block before a block.

use crate::kafka::tail::Tail;
use crate::kafka::wire::{Block, Unreadable, decode_blocks};
use mojoscan_domain::BlockId;
use rdkafka::error::KafkaError;
use rdkafka::message::Message;
use std::collections::{BTreeMap, HashMap};

/// Offsets read at a time.
const STRETCH: i64 = 4_096;

/// Why it could not be looked up.
#[derive(Debug)]
pub(super) enum Failed {
    Kafka(KafkaError),
    Unreadable(Unreadable),
}

impl From<KafkaError> for Failed {
    fn from(error: KafkaError) -> Self {
        Self::Kafka(error)
    }
}

/// Blocks of this producer that are remembered.
const RECENT_MAX: usize = 16_384;

/// What this producer has committed, which the topic may show only a moment later; and the stretch of the topic that was
/// read last. Whoever looks for a fork goes down block by block, and a block always
/// stands behind the one before it: so one stretch after the other is read, and only one is kept.
#[derive(Debug, Default)]
pub(super) struct Lookback {
    recent: BTreeMap<BlockId, Option<BlockId>>,
    start: i64,
    previous: HashMap<BlockId, Option<BlockId>>,
}

impl Lookback {
    /// Remembers a block that was committed.
    pub(super) fn committed(&mut self, id: BlockId, previous: Option<BlockId>) {
        self.recent.insert(id, previous);
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_first();
        }
    }

    /// Forgets what another producer may have written since.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(super) fn find_previous(
        &mut self,
        block: BlockId,
        tail: &Tail,
        topic: &str,
    ) -> Result<Option<BlockId>, Failed> {
        if let Some(previous) = self.recent.get(&block).or_else(|| self.previous.get(&block)) {
            return Ok(*previous);
        }
        // below what is known; and if it is not there, all of it
        for mut end in [self.start, tail.end(topic, 0)?] {
            while end > 0 {
                self.read(end, tail, topic)?;
                if let Some(previous) = self.previous.get(&block) {
                    return Ok(*previous);
                }
                end = self.start;
            }
        }
        Ok(None)
    }

    /// Reads the stretch that ends before an offset.
    fn read(&mut self, end: i64, tail: &Tail, topic: &str) -> Result<(), Failed> {
        self.start = (end - STRETCH).max(0);
        self.previous.clear();
        let mut unreadable = None;
        tail.read(topic, &BTreeMap::from([(0, self.start..end)]), |message| {
            match decode_blocks(message.payload().unwrap_or_default()) {
                Ok(entry) => {
                    if let Block::Applied { id, previous, .. } = entry.block {
                        self.previous.insert(id, previous);
                    }
                }
                Err(error) => unreadable = Some(error),
            }
        })?;
        unreadable.map_or(Ok(()), |error| Err(Failed::Unreadable(error)))
    }
}
