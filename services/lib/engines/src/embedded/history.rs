//! Which block came before which, on disk.

use super::{Embedded, Key, broken};
use fjall::Keyspace;
use mojoscan_domain::{BlockId, Bytes32, Header};
use mojoscan_pipeline::{History, HistoryError, StoreError};

/// Blocks are remembered at least this far below the newest one.
const DEPTH_MIN: u32 = 20_000;
/// Older ones are forgotten each time the height passes a multiple of this.
const FORGET_EVERY: u32 = 4_096;

/// Which block came before which, on disk.
pub struct EmbeddedHistory {
    embedded: Embedded,
    table: Keyspace,
    depth: u32,
}

impl EmbeddedHistory {
    /// Opens the table. Blocks are remembered at least `depth` below the newest one.
    ///
    /// # Errors
    /// [`StoreError::Broken`] if it cannot be made.
    pub fn open(embedded: &Embedded, depth: u32) -> Result<Self, StoreError> {
        let table = embedded.table("history")?;
        Ok(Self { embedded: embedded.clone(), table, depth: depth.max(DEPTH_MIN) })
    }
}

impl History for EmbeddedHistory {
    fn remember(&mut self, headers: &[&Header]) -> Result<(), HistoryError> {
        let mut batch = self.embedded.batch();
        for header in headers {
            if let Some(previous) = header.previous() {
                batch.insert(&self.table, key(header.id), previous.hash.to_bytes());
            }
            let height = header.id.height;
            if height.is_multiple_of(FORGET_EVERY)
                && let Some(last) = height.checked_sub(self.depth)
            {
                for guard in self.table.range(..Key::new().height(last)) {
                    batch.remove(&self.table, guard.key().map_err(failed)?);
                }
            }
        }
        fail::fail_point!("history-before-commit");
        batch.commit().map_err(failed)?;
        fail::fail_point!("history-after-commit");
        Ok(())
    }

    fn find_previous(&self, block: BlockId) -> Result<Option<BlockId>, HistoryError> {
        let Some(height) = block.height.checked_sub(1) else { return Ok(None) };
        let Some(hash) = self.table.get(key(block)).map_err(failed)? else { return Ok(None) };
        let hash = Bytes32::try_from(&*hash).map_err(|error| HistoryError(error.to_string()))?;
        Ok(Some(BlockId { height, hash }))
    }
}

fn key(block: BlockId) -> Key {
    Key::new().height(block.height).hash(block.hash)
}

fn failed(error: fjall::Error) -> HistoryError {
    HistoryError(broken(error).to_string())
}
