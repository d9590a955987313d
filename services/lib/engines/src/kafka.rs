//! The record log on Apache Kafka.
//!
//! [`KafkaPublisher`] writes it: one transaction a batch, one writer at a time. [`KafkaLog`] reads one topic of it, from
//! the positions that its consumer keeps. [`Topics`] names, makes and checks the topics. What is written is the public
//! contract in `proto/`, with CloudEvents attributes and the trace in the headers.

mod client;
mod config;
mod consumer;
mod headers;
mod publisher;
mod tail;
mod topics;
mod wire;

pub use config::{KafkaConfig, Sasl};
pub use consumer::{GroupOffsets, KafkaLog};
pub use publisher::KafkaPublisher;
pub use topics::{Ensured, Topics};

/// Why the log cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KafkaUnusable {
    /// A setting is wrong.
    #[error("kafka: {0}")]
    Config(String),
    /// No broker answers, or none lets us in.
    #[error("kafka {brokers}: {reason}")]
    Unreachable {
        /// The brokers that were asked.
        brokers: String,
        /// What they said.
        reason: String,
    },
    /// A topic is missing, or is not as it must be.
    #[error("{0}")]
    Topics(String),
}
