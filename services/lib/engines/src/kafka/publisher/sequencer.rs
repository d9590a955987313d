//! Turns a batch into the records of its transaction.

use mojoscan_domain::BlockId;
use mojoscan_domain::record::{CoinEvent, Place, Record, Rewind, Watermark};
use mojoscan_pipeline::{BlockEvents, Partition, PublishBatch, RewindTo, partition_of};

use crate::kafka::wire::{encode_block, encode_blocks_rewind, encode_coins};

/// Where the log stands: the end of every partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ends {
    /// How many rewinds there were.
    pub(super) epoch: u64,
    /// The last block published that is not void; none in an empty log.
    pub(super) block: Option<BlockId>,
    /// The last sequence number of each partition of the coins topic.
    pub(super) coins: Vec<u64>,
    /// The last sequence number of the blocks topic.
    pub(super) blocks: u64,
}

/// Which topic a record goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A partition of the coins topic.
    Coins(Partition),
    /// The one partition of the blocks topic.
    Blocks,
}

/// A record to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outgoing {
    pub(super) target: Target,
    /// What decides the partition: the owner. None for a record that goes to every partition.
    pub(super) key: Option<[u8; 32]>,
    pub(super) payload: Vec<u8>,
    /// The name of its type.
    pub(super) kind: &'static str,
    /// What tells it from every other record.
    pub(super) id: String,
}

impl Ends {
    /// Moves the ends behind a batch, and hands over its records. Ends at the first record that is refused.
    pub(super) fn append<E>(
        &mut self,
        batch: &PublishBatch,
        mut send: impl FnMut(&Outgoing) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(RewindTo(to)) = batch.rewind {
            self.rewind(to, &mut send)?;
        }
        let previous = self.block;
        for (index, block) in batch.blocks.iter().enumerate() {
            self.events(block, &mut send)?;
            self.block = Some(block.header.id);
            if index + 1 == batch.blocks.len() {
                self.watermarks(previous, batch, &mut send)?;
            }
            self.applied(block, &mut send)?;
        }
        if batch.blocks.is_empty() {
            self.watermarks(previous, batch, &mut send)?;
        }
        Ok(())
    }

    fn rewind<E>(
        &mut self,
        to: Option<BlockId>,
        send: &mut impl FnMut(&Outgoing) -> Result<(), E>,
    ) -> Result<(), E> {
        self.epoch += 1;
        self.block = to;
        let record = Record::Rewind(Rewind { epoch: self.epoch, to });
        let name = to.map_or_else(|| "none".to_owned(), |block| block.hash.to_string());
        self.everywhere(&record, "mojoscan.coins.v1.Rewind", &format!("{name}:rewind"), send)?;
        self.blocks += 1;
        send(&Outgoing {
            target: Target::Blocks,
            key: None,
            payload: encode_blocks_rewind(self.epoch, self.blocks, to),
            kind: "mojoscan.blocks.v1.Rewind",
            id: format!("{}:{name}:rewind:blocks", self.epoch),
        })
    }

    fn events<E>(
        &mut self,
        block: &BlockEvents,
        send: &mut impl FnMut(&Outgoing) -> Result<(), E>,
    ) -> Result<(), E> {
        let timestamp = block.header.timestamp.unwrap_or_default();
        let partitions = self.partitions();
        for (index, event) in (0..).zip(&block.coins) {
            let owner = event.owner();
            let partition = partition_of(owner.as_slice(), partitions);
            let place = Place { block: block.header.id, timestamp, index };
            send(&Outgoing {
                target: Target::Coins(partition),
                key: Some(owner.to_bytes()),
                payload: encode_coins(self.epoch, self.next(partition), &Record::Event(place, event)),
                kind: match event {
                    CoinEvent::Created(_) => "mojoscan.coins.v1.CoinCreated",
                    CoinEvent::Spent(_) => "mojoscan.coins.v1.CoinSpent",
                },
                id: format!("{}:{}:{index}", self.epoch, block.header.id.hash),
            })?;
        }
        Ok(())
    }

    /// Says in every partition that everything up to the last block is there.
    fn watermarks<E>(
        &mut self,
        previous: Option<BlockId>,
        batch: &PublishBatch,
        send: &mut impl FnMut(&Outgoing) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(block) = self.block else { return Ok(()) };
        let (peak_height, heard_at_ms) = (batch.peak_height, batch.heard_at_ms);
        let record = Record::Watermark(Watermark { block, previous, peak_height, heard_at_ms });
        self.everywhere(&record, "mojoscan.coins.v1.Watermark", &format!("{}:watermark", block.hash), send)
    }

    fn applied<E>(
        &mut self,
        block: &BlockEvents,
        send: &mut impl FnMut(&Outgoing) -> Result<(), E>,
    ) -> Result<(), E> {
        self.blocks += 1;
        send(&Outgoing {
            target: Target::Blocks,
            key: None,
            payload: encode_block(self.epoch, self.blocks, &block.header, &self.coins),
            kind: "mojoscan.blocks.v1.BlockApplied",
            id: format!("{}:{}", self.epoch, block.header.id.hash),
        })
    }

    /// Sends a record to every partition of the coins topic.
    fn everywhere<E>(
        &mut self,
        record: &Record<&CoinEvent>,
        kind: &'static str,
        name: &str,
        send: &mut impl FnMut(&Outgoing) -> Result<(), E>,
    ) -> Result<(), E> {
        for partition in 0..self.partitions() {
            let seq = self.next(partition);
            send(&Outgoing {
                target: Target::Coins(partition),
                key: None,
                payload: encode_coins(self.epoch, seq, record),
                kind,
                // a watermark may be repeated
                id: format!("{}:{name}:{partition}:{seq}", self.epoch),
            })?;
        }
        Ok(())
    }

    fn partitions(&self) -> u32 {
        // was made from a number of this type
        self.coins.len() as u32
    }

    fn next(&mut self, partition: Partition) -> u64 {
        let seq = &mut self.coins[partition as usize];
        *seq += 1;
        *seq
    }
}
