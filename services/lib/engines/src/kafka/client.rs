//! What every client of the brokers has in common: it remembers what went wrong.

use super::{KafkaConfig, KafkaUnusable};
use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{DeliveryResult, ProducerContext};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tracing::debug;

/// How long a question to the brokers may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The latest thing that went wrong with a connection. The library tells it apart from the call that fails for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Trouble(Arc<Mutex<Option<String>>>);

impl Trouble {
    /// An error with its cause, in one line.
    pub(super) fn explain(&self, error: &KafkaError) -> String {
        let cause = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match cause {
            Some(cause) if is_connection(error) => cause,
            _ => error.to_string(),
        }
    }

    fn heard(&self, cause: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(cause.to_owned());
    }

    pub(super) fn unreachable(&self, config: &KafkaConfig, error: &KafkaError) -> KafkaUnusable {
        KafkaUnusable::Unreachable { brokers: config.kafka.clone(), reason: self.explain(error) }
    }
}

impl ClientContext for Trouble {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        // what matters of it is told where the call that failed for it is dealt with
        debug!(target: "librdkafka", facility, "{message}");
        if matches!(
            level,
            RDKafkaLogLevel::Emerg
                | RDKafkaLogLevel::Alert
                | RDKafkaLogLevel::Critical
                | RDKafkaLogLevel::Error
        ) {
            // behind the name of a thread
            self.heard(message.split_once("]: ").map_or(message, |(_, cause)| cause));
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        debug!(target: "librdkafka", %error, "{reason}");
        // that all brokers are down says less than why
        if error.rdkafka_error_code() != Some(RDKafkaErrorCode::AllBrokersDown) {
            self.heard(reason);
        }
    }
}

impl ProducerContext for Trouble {
    type DeliveryOpaque = ();

    fn delivery(&self, _: &DeliveryResult<'_>, (): ()) {}
}

impl ConsumerContext for Trouble {}

/// Whether an error says only that no broker answered, or that another one leads now.
pub(super) fn is_connection(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::BrokerTransportFailure
                | RDKafkaErrorCode::AllBrokersDown
                | RDKafkaErrorCode::OperationTimedOut
                | RDKafkaErrorCode::MessageTimedOut
                | RDKafkaErrorCode::RequestTimedOut
                | RDKafkaErrorCode::Resolve
                | RDKafkaErrorCode::NotLeaderForPartition
                | RDKafkaErrorCode::LeaderNotAvailable
                | RDKafkaErrorCode::ReplicaNotAvailable
                | RDKafkaErrorCode::BrokerNotAvailable
                | RDKafkaErrorCode::OffsetNotAvailable
                | RDKafkaErrorCode::KafkaStorageError
                | RDKafkaErrorCode::Authentication
                | RDKafkaErrorCode::SSL
        )
    )
}

/// A client that could not even be made: a setting is wrong, or a file cannot be read.
pub(super) fn misconfigured(error: &KafkaError) -> KafkaUnusable {
    KafkaUnusable::Config(error.to_string())
}

/// Runs calls of the library that block off the asynchronous executor.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // the executor is ending, and nobody waits any more
            Err(_) => std::future::pending().await,
        },
    }
}
