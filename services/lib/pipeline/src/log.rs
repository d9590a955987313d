//! The reading end of the record log.

use crate::Broken;
use mojoscan_domain::Position;
use mojoscan_domain::record::Sequenced;
use std::future::Future;
use tracing::Span;

/// Number of a partition of a topic.
pub type Partition = u32;

/// What a log has to say to a consumer.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery<E> {
    /// This consumer reads the partition from now on. It must say from where: [`RecordLog::seek`].
    Assigned(Partition),
    /// Another consumer reads the partition from now on. Nothing more comes of it.
    Revoked(Partition),
    /// A record of a partition cannot be understood. Nothing more comes of it.
    Broken(Partition, Broken),
    /// The next records of a partition, in order, and the span that they were read in: all work on them belongs to it.
    Records(Partition, Vec<Sequenced<E>>, Span),
}

/// Why a log gives nothing more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The writer is gone, and everything it wrote was delivered.
    #[error("the log has ended")]
    Ended,
    /// It failed.
    #[error("{0}")]
    Failed(String),
}

/// The reading end of one topic of the record log.
pub trait RecordLog: Send + 'static {
    /// What happens in this topic.
    type Event: Send + Sync + 'static;

    /// The topic's name.
    fn topic(&self) -> &str;

    /// Waits for the next delivery. One that is no longer waited for is not lost.
    fn next(&mut self) -> impl Future<Output = Result<Delivery<Self::Event>, LogError>> + Send;

    /// Says from where an assigned partition is to be read: behind this position.
    fn seek(
        &mut self,
        partition: Partition,
        position: Position,
    ) -> impl Future<Output = Result<(), LogError>> + Send;

    /// Delivers no more records of a partition, and fetches no more than it has.
    ///
    /// # Errors
    /// [`LogError::Failed`] if the log has failed.
    fn pause(&mut self, partition: Partition) -> Result<(), LogError>;

    /// Goes on with a partition that was paused.
    ///
    /// # Errors
    /// [`LogError::Failed`] if the log has failed.
    fn resume(&mut self, partition: Partition) -> Result<(), LogError>;
}
