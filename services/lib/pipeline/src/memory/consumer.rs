//! The reading end: one partition, always assigned.

use crate::{Delivery, LogError, Partition, RecordLog};
use mojoscan_domain::Position;
use mojoscan_domain::record::{CoinEvent, Sequenced};
use tokio::sync::{mpsc, oneshot};
use tracing::Span;

/// The only partition there is.
const PARTITION: Partition = 0;

/// The reading end of a log in memory.
pub struct MemoryLog {
    /// Taken once the consumer has said where it stands.
    start: Option<oneshot::Sender<Position>>,
    assigned: bool,
    paused: bool,
    records: mpsc::Receiver<Vec<Sequenced<CoinEvent>>>,
}

impl MemoryLog {
    pub(super) const fn new(
        start: oneshot::Sender<Position>,
        records: mpsc::Receiver<Vec<Sequenced<CoinEvent>>>,
    ) -> Self {
        Self { start: Some(start), assigned: false, paused: false, records }
    }
}

impl RecordLog for MemoryLog {
    type Event = CoinEvent;

    fn topic(&self) -> &'static str {
        "coins"
    }

    async fn next(&mut self) -> Result<Delivery<CoinEvent>, LogError> {
        if !self.assigned {
            self.assigned = true;
            return Ok(Delivery::Assigned(PARTITION));
        }
        if self.paused {
            // the publisher waits in the bounded channel meanwhile
            std::future::pending::<()>().await;
        }
        let records = self.records.recv().await.ok_or(LogError::Ended)?;
        Ok(Delivery::Records(PARTITION, records, Span::none()))
    }

    async fn seek(&mut self, _partition: Partition, position: Position) -> Result<(), LogError> {
        match self.start.take() {
            // without a publisher there is nothing to read, which the next delivery says
            Some(start) => drop(start.send(position)),
            None => return Err(LogError::Failed("a log in memory can be read only once".to_owned())),
        }
        Ok(())
    }

    fn pause(&mut self, _partition: Partition) -> Result<(), LogError> {
        self.paused = true;
        Ok(())
    }

    fn resume(&mut self, _partition: Partition) -> Result<(), LogError> {
        self.paused = false;
        Ok(())
    }
}
