//! How far a partition is.

use crate::Partition;
use mojoscan_domain::Position;
use mojoscan_domain::record::Watermark;
use std::collections::BTreeMap;

/// How far each partition is.
pub type ProgressMap = BTreeMap<Partition, Progress>;

/// How far a partition is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// What is applied.
    pub position: Position,
    /// The latest watermark applied since the process began.
    pub watermark: Option<Watermark>,
    /// What it is doing.
    pub state: State,
}

/// What a partition is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It follows its records.
    Running,
    /// It has stopped for good, and why.
    Stopped(String),
}
