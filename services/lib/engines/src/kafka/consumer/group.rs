//! The group's word on who reads which partition, turned from callbacks into events.

use crate::kafka::client::Trouble;
use mojoscan_pipeline::Partition;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{ClientContext, TopicPartitionList};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;
use tracing::warn;

/// What the group has decided.
#[derive(Debug)]
pub(super) enum Event {
    /// This consumer is to read these. The group waits for [`Group::answer`].
    Assigned(Vec<Partition>),
    /// It no longer reads these.
    Revoked(Vec<Partition>),
}

/// Takes the group's callbacks. The library calls them from the thread that asks it for records.
pub(super) struct Group {
    pub(super) trouble: Trouble,
    /// There are few: the group decides nothing more before it was answered.
    events: mpsc::UnboundedSender<Event>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What was assigned, and not answered yet.
    unanswered: Option<TopicPartitionList>,
    leaving: bool,
}

impl Group {
    pub(super) fn new(events: mpsc::UnboundedSender<Event>) -> Self {
        Self { trouble: Trouble::default(), events, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to fetch what was assigned, from these offsets.
    pub(super) fn answer(
        &self,
        consumer: &impl Consumer<Self>,
        assignment: &TopicPartitionList,
    ) -> KafkaResult<()> {
        let asked = self.state().unanswered.take();
        // without a question they were revoked in the meantime
        if asked.is_some() { consumer.incremental_assign(assignment) } else { Ok(()) }
    }

    /// Answers whatever is and will be asked, so that the group can be left.
    pub(super) fn leave(&self, consumer: &impl Consumer<Self>) {
        let asked = {
            let mut state = self.state();
            state.leaving = true;
            state.unanswered.take()
        };
        if let Some(assignment) = asked {
            told(consumer.incremental_assign(&assignment));
        }
    }

    fn assigned(&self, consumer: &BaseConsumer<Self>, list: &TopicPartitionList) {
        let mut state = self.state();
        if state.leaving || list.count() == 0 {
            told(consumer.incremental_assign(list));
            return;
        }
        state.unanswered = Some(list.clone());
        self.tell(Event::Assigned(partitions(list)));
    }

    fn revoked(&self, consumer: &BaseConsumer<Self>, list: &TopicPartitionList) {
        if let Some(assignment) = self.state().unanswered.take() {
            told(consumer.incremental_assign(&assignment));
        }
        told(consumer.incremental_unassign(list));
        self.tell(Event::Revoked(partitions(list)));
    }

    fn tell(&self, event: Event) {
        // the other end is gone only when the log is
        drop(self.events.send(event));
    }
}

impl ClientContext for Group {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.trouble.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.trouble.error(error, reason);
    }
}

impl ConsumerContext for Group {
    fn rebalance(&self, consumer: &BaseConsumer<Self>, what: RDKafkaRespErr, list: &mut TopicPartitionList) {
        match what {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => self.assigned(consumer, list),
            _ => self.revoked(consumer, list),
        }
    }
}

fn partitions(list: &TopicPartitionList) -> Vec<Partition> {
    list.elements().iter().map(|element| element.partition().cast_unsigned()).collect()
}

fn told(outcome: KafkaResult<()>) {
    if let Err(error) = outcome {
        warn!(%error, "the group was not answered");
    }
}
