//! The writing end.

use super::Subscriber;
use crate::{BlockEvents, History, HistoryError, PublishBatch, PublishError, Publisher, RewindTo};
use mojoscan_domain::record::{CoinEvent, Place, Record, Rewind, Sequenced, Watermark};
use mojoscan_domain::{BlockId, Position};
use std::collections::VecDeque;
use tokio::sync::mpsc;

/// The writing end of a log in memory.
pub struct MemoryPublisher<H> {
    history: H,
    waiting: Vec<Subscriber>,
    readers: Vec<Reader>,
    last: Option<BlockId>,
}

/// One consumer, as the publisher sees it.
struct Reader {
    deliveries: mpsc::Sender<Vec<Sequenced<CoinEvent>>>,
    position: Position,
    /// The blocks it has beyond what all consumers have in common, lowest first.
    ahead: VecDeque<BlockId>,
}

impl<H: History> MemoryPublisher<H> {
    pub(super) const fn new(history: H, waiting: Vec<Subscriber>) -> Self {
        Self { history, waiting, readers: vec![], last: None }
    }

    /// The last block that all consumers have. Fills in what each has beyond it.
    fn common(&mut self) -> Result<Option<BlockId>, PublishError> {
        let mut ends: Vec<Option<BlockId>> =
            self.readers.iter().map(|reader| reader.position.block).collect();
        loop {
            let lowest = ends.iter().copied().min().flatten();
            if ends.iter().all(|end| *end == lowest) {
                return Ok(lowest);
            }
            for (end, reader) in ends.iter_mut().zip(&mut self.readers) {
                if *end != lowest
                    && let Some(block) = *end
                {
                    reader.ahead.push_front(block);
                    *end = self.history.find_previous(block).map_err(broken)?;
                }
            }
        }
    }
}

impl<H: History> Publisher for MemoryPublisher<H> {
    async fn resume(&mut self) -> Result<Option<BlockId>, PublishError> {
        for subscriber in self.waiting.drain(..) {
            let position = subscriber.started.await.map_err(|_| gone())?;
            let deliveries = subscriber.deliveries;
            self.readers.push(Reader { deliveries, position, ahead: VecDeque::new() });
        }
        if self.last.is_none() {
            self.last = self.common()?;
        }
        Ok(self.last)
    }

    async fn find_previous(&mut self, block: BlockId) -> Result<Option<BlockId>, PublishError> {
        self.history.find_previous(block).map_err(broken)
    }

    async fn publish(&mut self, batch: PublishBatch) -> Result<(), PublishError> {
        let headers: Vec<_> = batch.blocks.iter().map(|block| &block.header).collect();
        self.history.remember(&headers).map_err(broken)?;
        for reader in &mut self.readers {
            let records = reader.records(&batch);
            if !records.is_empty() {
                reader.deliveries.send(records).await.map_err(|_| gone())?;
            }
        }
        if let Some(RewindTo(to)) = batch.rewind {
            self.last = to;
        }
        self.last = batch.blocks.last().map(|block| block.header.id).or(self.last);
        Ok(())
    }
}

impl Reader {
    /// What this consumer is handed of a batch.
    fn records(&mut self, batch: &PublishBatch) -> Vec<Sequenced<CoinEvent>> {
        let mut records = vec![];
        if let Some(RewindTo(to)) = batch.rewind {
            self.rewind(to, &mut records);
        }
        for block in &batch.blocks {
            if self.ahead.front() == Some(&block.header.id) {
                self.ahead.pop_front();
                continue;
            }
            if !self.ahead.is_empty() {
                self.rewind(block.header.previous(), &mut records);
            }
            self.block(block, &mut records);
        }
        if self.ahead.is_empty() {
            self.watermark(batch, &mut records);
        }
        records
    }

    fn rewind(&mut self, to: Option<BlockId>, records: &mut Vec<Sequenced<CoinEvent>>) {
        self.ahead.clear();
        self.position.epoch += 1;
        self.position.block = to;
        self.push(Record::Rewind(Rewind { epoch: self.position.epoch, to }), records);
    }

    fn block(&mut self, block: &BlockEvents, records: &mut Vec<Sequenced<CoinEvent>>) {
        let timestamp = block.header.timestamp.unwrap_or_default();
        for (index, event) in (0..).zip(&block.coins) {
            let place = Place { block: block.header.id, timestamp, index };
            self.push(Record::Event(place, event.clone()), records);
        }
    }

    fn watermark(&mut self, batch: &PublishBatch, records: &mut Vec<Sequenced<CoinEvent>>) {
        let previous = self.position.block;
        let Some(block) = batch.blocks.last().map(|block| block.header.id).or(previous) else { return };
        let (peak_height, heard_at_ms) = (batch.peak_height, batch.heard_at_ms);
        self.push(Record::Watermark(Watermark { block, previous, peak_height, heard_at_ms }), records);
        self.position.block = Some(block);
    }

    fn push(&mut self, record: Record<CoinEvent>, records: &mut Vec<Sequenced<CoinEvent>>) {
        self.position.seq += 1;
        let (epoch, seq) = (self.position.epoch, self.position.seq);
        records.push(Sequenced { epoch, seq, offset: seq, record });
    }
}

fn broken(HistoryError(reason): HistoryError) -> PublishError {
    PublishError::Broken(reason)
}

fn gone() -> PublishError {
    PublishError::Broken("nobody reads the log any more".to_owned())
}
