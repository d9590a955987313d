//! A producer of transactions, from its first to the first one that fails. Every call blocks.

use super::sequencer::{Outgoing, Target};
use crate::kafka::client::{Trouble, misconfigured};
use crate::kafka::headers::Envelope;
use crate::kafka::{KafkaConfig, KafkaUnusable, Topics};
use mojoscan_pipeline::PublishError;
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseRecord, DeliveryResult, Producer as _, ProducerContext, ThreadedProducer};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// After this time the broker gives up a transaction, so that a publisher that died does not hold up the readers.
const TRANSACTION: Duration = Duration::from_secs(60);
/// How long the brokers may take to accept a record, or to commit.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the brokers may take to say what became of a transaction that failed.
const LAST_WORD: Duration = Duration::from_secs(5);
/// Records that may wait for the brokers.
const WAITING_MAX: usize = 100_000;

/// A producer whose transactions have all succeeded so far.
pub(super) struct Producer {
    producer: ThreadedProducer<Context>,
    trouble: Trouble,
    deliveries: Arc<Deliveries>,
}

impl Producer {
    pub(super) fn new(config: &KafkaConfig, topics: &Topics) -> Result<Self, KafkaUnusable> {
        let (trouble, deliveries) = (Trouble::default(), Arc::default());
        let mut client = config.client()?;
        client
            .set("transactional.id", format!("{}-ingestor", topics.network))
            .set("transaction.timeout.ms", TRANSACTION.as_millis().to_string())
            .set("message.timeout.ms", PATIENCE.as_millis().to_string())
            .set("queue.buffering.max.messages", (2 * WAITING_MAX).to_string())
            .set("compression.type", "lz4")
            // records wait for each other only while the brokers are busy
            .set("linger.ms", "1");
        let context = Context { trouble: trouble.clone(), deliveries: Arc::clone(&deliveries) };
        let producer = client.create_with_context(context).map_err(|error| misconfigured(&error))?;
        Ok(Self { producer, trouble, deliveries })
    }

    /// Takes over: settles what an older producer has left open, and shuts that one out for good.
    pub(super) fn take_over(&self) -> Result<(), PublishError> {
        self.producer.init_transactions(PATIENCE).map_err(|error| self.failure(&error))
    }

    /// Publishes what `fill` sends, all of it or nothing. After an error the outcome may be unknown, and the producer is
    /// of no more use.
    pub(super) fn transaction(
        &self,
        fill: impl FnOnce(&mut dyn FnMut(&Outgoing) -> Result<(), KafkaError>) -> Result<(), KafkaError>,
        topics: &Topics,
    ) -> Result<(), PublishError> {
        let envelope = Envelope::new(topics.network);
        let attempt = || {
            self.producer.begin_transaction()?;
            fill(&mut |record| self.send(record, topics, &envelope))?;
            self.deliveries.wait_below(1)?;
            // a report is counted a moment after it was made; the commit would sleep meanwhile
            while self.producer.in_flight_count() > 0 {
                thread::yield_now();
            }
            fail::fail_point!("kafka-commit-before", |_| Err(KafkaError::Canceled));
            self.commit()
        };
        attempt().map_err(|error| self.gave_up(&error))?;
        fail::fail_point!("kafka-commit-after", |_| Err(PublishError::Unavailable("a failpoint".to_owned())));
        Ok(())
    }

    fn send(&self, record: &Outgoing, topics: &Topics, envelope: &Envelope) -> Result<(), KafkaError> {
        self.deliveries.wait_below(WAITING_MAX)?;
        let (topic, partition) = match record.target {
            Target::Coins(partition) => (&topics.coins, partition.cast_signed()),
            Target::Blocks => (&topics.blocks, 0),
        };
        let outgoing = BaseRecord {
            topic,
            partition: Some(partition),
            payload: Some(&record.payload),
            key: record.key.as_ref(),
            timestamp: None,
            headers: Some(envelope.headers(record.kind, &record.id)),
            delivery_opaque: (),
        };
        self.deliveries.sent();
        self.producer.send(outgoing).map_err(|(error, _)| error)
    }

    /// Commits. The same commit may be asked for again while its outcome is open.
    fn commit(&self) -> Result<(), KafkaError> {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.producer.commit_transaction(left) {
                Err(KafkaError::Transaction(error)) if error.is_retriable() && !left.is_zero() => {}
                outcome => return outcome,
            }
        }
    }

    /// What to say of a transaction that failed. A producer that was shut out is not always told so at once: it is asked.
    fn gave_up(&self, error: &KafkaError) -> PublishError {
        let failure = self.failure(error);
        if matches!(failure, PublishError::Fenced(_)) {
            return failure;
        }
        match self.producer.abort_transaction(LAST_WORD) {
            Err(error) if self.is_fenced(&error) => self.failure(&error),
            _ => failure,
        }
    }

    fn failure(&self, error: &KafkaError) -> PublishError {
        if self.is_fenced(error) {
            return PublishError::Fenced(error.to_string());
        }
        PublishError::Unavailable(format!("kafka: {}", self.trouble.explain(error)))
    }

    fn is_fenced(&self, error: &KafkaError) -> bool {
        let fatal = self.producer.client().fatal_error().map(|(code, _)| code);
        [fatal, error.rdkafka_error_code()].into_iter().flatten().any(|code| {
            matches!(
                code,
                RDKafkaErrorCode::Fenced
                    | RDKafkaErrorCode::ProducerFenced
                    | RDKafkaErrorCode::InvalidProducerEpoch
            )
        })
    }
}

/// Records that were sent, and what became of them.
#[derive(Debug, Default)]
struct Deliveries {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Records that no report has come for.
    records: usize,
    /// Records that are waited for to be fewer than this.
    below: usize,
    failed: Option<KafkaError>,
}

impl Deliveries {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sent(&self) {
        self.lock().records += 1;
    }

    fn reported(&self, failure: Option<KafkaError>) {
        let mut waiting = self.lock();
        waiting.records = waiting.records.saturating_sub(1);
        if waiting.failed.is_none() {
            waiting.failed = failure;
        }
        if waiting.records < waiting.below || waiting.failed.is_some() {
            self.changed.notify_all();
        }
    }

    /// Waits until fewer records than this wait for their report, or one has failed. Every record is reported within
    /// the time that the brokers have to accept it.
    fn wait_below(&self, records: usize) -> Result<(), KafkaError> {
        let mut waiting = self.lock();
        waiting.below = records;
        while waiting.records >= records && waiting.failed.is_none() {
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.failed.clone().map_or(Ok(()), Err)
    }
}

struct Context {
    trouble: Trouble,
    deliveries: Arc<Deliveries>,
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.trouble.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.trouble.error(error, reason);
    }
}

impl ProducerContext for Context {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        self.deliveries.reported(result.as_ref().err().map(|(error, _)| error.clone()));
    }
}
