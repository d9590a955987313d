//! Which block came before which: what a process without a broker needs to remember to find a fork point.

use mojoscan_domain::{BlockId, Header};
use std::collections::BTreeMap;

/// Why the history could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HistoryError(pub String);

/// Remembers the block before each block, of every fork that was followed, as far back as forks are looked for.
pub trait History: Send + 'static {
    /// Remembers blocks, before anything of them is handed out.
    ///
    /// # Errors
    /// [`HistoryError`] if they could not be written.
    fn remember(&mut self, headers: &[&Header]) -> Result<(), HistoryError>;

    /// The block before; none if it is not remembered.
    ///
    /// # Errors
    /// [`HistoryError`] if it could not be read.
    fn find_previous(&self, block: BlockId) -> Result<Option<BlockId>, HistoryError>;
}

/// A history that ends with the process.
#[derive(Debug, Default)]
pub struct MemoryHistory(BTreeMap<BlockId, BlockId>);

impl History for MemoryHistory {
    fn remember(&mut self, headers: &[&Header]) -> Result<(), HistoryError> {
        self.0.extend(headers.iter().filter_map(|header| Some((header.id, header.previous()?))));
        Ok(())
    }

    fn find_previous(&self, block: BlockId) -> Result<Option<BlockId>, HistoryError> {
        Ok(self.0.get(&block).copied())
    }
}
