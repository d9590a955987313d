//! The embedded store: one folder, one process, atomic batches that are on disk once they are committed.

mod history;
mod keys;
mod meta;

pub use history::EmbeddedHistory;
pub use keys::{Key, newest_first};
pub use meta::{Checkpoint, Meta, Settings};

use fjall::config::PinningPolicy;
use fjall::{Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};
use mojoscan_pipeline::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Journals kept before memtables are flushed: bounds the time to reopen after a crash.
const JOURNAL_BYTES_MAX: u64 = 128 << 20;
/// Size of a table's memtable.
const MEMTABLE_BYTES_MAX: u64 = 4 << 20;

/// An open folder.
#[derive(Clone)]
pub struct Embedded {
    database: fjall::Database,
}

impl Embedded {
    /// Opens the folder, or makes it. `cache_bytes` bounds the block cache.
    ///
    /// # Errors
    /// [`StoreError::Broken`] if another process has it open, or it cannot be read or written.
    pub fn open(folder: &Path, cache_bytes: u64) -> Result<Self, StoreError> {
        let explain = |error| match error {
            fjall::Error::Locked => {
                StoreError::Broken(format!("{}: another process has this folder open", folder.display()))
            }
            other => StoreError::Broken(format!("{}: {other}", folder.display())),
        };
        std::fs::create_dir_all(folder)
            .and_then(|()| clear_unmade(folder))
            .map_err(|error| explain(fjall::Error::Io(error)))?;
        let database = fjall::Database::builder(folder)
            .cache_size(cache_bytes)
            .max_journaling_size(JOURNAL_BYTES_MAX)
            .open()
            .map_err(explain)?;
        Ok(Self { database })
    }

    /// A table, made if it is not there.
    ///
    /// # Errors
    /// [`StoreError::Broken`] if it cannot be made.
    pub fn table(&self, name: &str) -> Result<Keyspace, StoreError> {
        let options = || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(MEMTABLE_BYTES_MAX)
                .index_block_pinning_policy(PinningPolicy::all(true))
        };
        self.database.keyspace(name, options).map_err(broken)
    }

    /// A batch that is on disk once it is committed.
    pub fn batch(&self) -> OwnedWriteBatch {
        self.database.batch().durability(Some(PersistMode::SyncData))
    }

    /// A view that later commits do not change.
    pub fn snapshot(&self) -> fjall::Snapshot {
        self.database.snapshot()
    }
}

/// Clears what a process has left that ended while it made the database. The engine writes its marker before it takes
/// any row, and refuses a folder with a journal and no marker.
fn clear_unmade(folder: &Path) -> std::io::Result<()> {
    let (marker, journal) = (folder.join("version"), folder.join("0.jnl"));
    let made = std::fs::metadata(&marker).is_ok_and(|marker| marker.len() > 0);
    if made || !journal.exists() {
        return Ok(());
    }
    let lock = std::fs::File::options().create(true).truncate(false).write(true).open(folder.join("lock"))?;
    // who holds it is making the database at this moment
    if lock.try_lock().is_ok() {
        std::fs::remove_file(journal)?;
        if marker.exists() {
            std::fs::remove_file(marker)?;
        }
    }
    Ok(())
}

/// Runs reads or writes off the asynchronous executor.
///
/// # Errors
/// What `work` returns; [`StoreError::Broken`] if it panicked.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(StoreError::Broken(format!("the embedded store failed: {error}"))),
    }
}

/// An engine error as the ports know it. The engine accepts no writes after one, so none of them is passing.
#[expect(clippy::needless_pass_by_value, reason = "errors are handed over as they come")]
pub fn broken(error: fjall::Error) -> StoreError {
    StoreError::Broken(format!("the embedded store failed: {error}"))
}

/// A value as its bytes.
///
/// # Errors
/// [`StoreError::Broken`], which cannot happen to the rows of this program.
pub fn encode(value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    postcard::to_stdvec(value).map_err(|error| StoreError::Broken(format!("cannot encode a row: {error}")))
}

/// A value from its bytes.
///
/// # Errors
/// [`StoreError::Broken`] if the bytes are not such a value: the store is damaged, or of another version.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StoreError> {
    postcard::from_bytes(bytes).map_err(|error| StoreError::Broken(format!("cannot decode a row: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_was_never_made_is_made_again() {
        for marker in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("0.jnl"), b"").unwrap();
            if marker {
                std::fs::write(folder.path().join("version"), b"").unwrap();
            }
            Embedded::open(folder.path(), 1 << 20).unwrap().table("one").unwrap();
            Embedded::open(folder.path(), 1 << 20).unwrap().table("one").unwrap();
        }
    }
}
