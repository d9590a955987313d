//! The processes of a fleet, and what operators do for them.

pub(crate) mod address;
mod catch_up;
pub(crate) mod gateway;
pub(crate) mod ingestor;
pub(crate) mod migrate;
pub(crate) mod replay;
pub(crate) mod topics;

use mojoscan_engines::kafka::KafkaUnusable;
use mojoscan_pipeline::StoreError;
use mojoscan_runtime::exit::{self, Failure};

/// What is wrong with the brokers or the topics, and what to change.
fn kafka_failure(error: &KafkaUnusable) -> Failure {
    Failure::new(exit::CONFIG, error)
}

/// What is wrong with the CQL store, and what to change.
fn cql_failure(error: &StoreError) -> Failure {
    Failure::new(exit::CONFIG, format!("cql: {error}"))
}
