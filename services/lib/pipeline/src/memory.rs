//! The record log of a process that needs no broker: the ingestor hands records to each projection through a bounded
//! channel.
//!
//! Nothing is kept. At start every consumer says where its rows stand; the source replays from the last block that
//! all of them have in common, and a consumer is handed only what it does not have yet. A consumer whose blocks have
//! left the chain is rewound first. Sequence numbers and epochs go on from the consumer's own position, so each
//! consumer has its own.

mod consumer;
mod publisher;

pub use consumer::MemoryLog;
pub use publisher::MemoryPublisher;

use crate::History;
use mojoscan_domain::record::Sequenced;
use mojoscan_domain::{Position, record::CoinEvent};
use tokio::sync::{mpsc, oneshot};

/// Deliveries that may wait for a consumer. A delivery is what was published at once.
const DELIVERIES_MAX: usize = 2;

/// The publisher's end of one consumer.
struct Subscriber {
    started: oneshot::Receiver<Position>,
    deliveries: mpsc::Sender<Vec<Sequenced<CoinEvent>>>,
}

/// A log with this many consumers of the coins topic.
pub fn log<H: History>(history: H, consumers: usize) -> (MemoryPublisher<H>, Vec<MemoryLog>) {
    let (subscribers, consumers) = (0..consumers)
        .map(|_| {
            let (start, started) = oneshot::channel();
            let (deliveries, records) = mpsc::channel(DELIVERIES_MAX);
            (Subscriber { started, deliveries }, MemoryLog::new(start, records))
        })
        .unzip();
    (MemoryPublisher::new(history, subscribers), consumers)
}
