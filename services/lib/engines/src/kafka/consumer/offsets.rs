//! Tells the group how far its partitions are applied, for those who watch the lag. Nobody ever starts from there.

use super::group::Group;
use mojoscan_pipeline::runner::ProgressMap;
use rdkafka::consumer::{CommitMode, Consumer, StreamConsumer};
use rdkafka::error::KafkaResult;
use rdkafka::{Offset, TopicPartitionList};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tracing::debug;

/// How often the group is told.
const EVERY: Duration = Duration::from_secs(5);

/// Tells the group how far its partitions are applied.
pub struct GroupOffsets {
    consumer: Weak<StreamConsumer<Group>>,
    topic: String,
}

impl GroupOffsets {
    pub(super) fn new(consumer: &Arc<StreamConsumer<Group>>, topic: &str) -> Self {
        Self { consumer: Arc::downgrade(consumer), topic: topic.to_owned() }
    }

    /// Tells it until the log is dropped.
    pub async fn follow(self, mut progress: watch::Receiver<ProgressMap>) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while progress.changed().await.is_ok() {
            ticks.tick().await;
            let Some(consumer) = self.consumer.upgrade() else { return };
            let applied = progress.borrow_and_update().clone();
            // whoever watches sees that it stands still
            if let Err(error) = self.tell(&consumer, &applied) {
                debug!(%error, "the group was not told how far its partitions are");
            }
        }
    }

    fn tell(&self, consumer: &StreamConsumer<Group>, applied: &ProgressMap) -> KafkaResult<()> {
        let mut offsets = TopicPartitionList::new();
        for element in consumer.assignment()?.elements_for_topic(&self.topic) {
            if let Some(progress) = applied.get(&element.partition().cast_unsigned()) {
                let offset = Offset::Offset(progress.position.offset.cast_signed());
                offsets.add_partition_offset(&self.topic, element.partition(), offset)?;
            }
        }
        if offsets.count() == 0 { Ok(()) } else { consumer.commit(&offsets, CommitMode::Async) }
    }
}
