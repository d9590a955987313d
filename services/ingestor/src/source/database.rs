//! A node's database file, read-only, also while the node writes it.
//!
//! Each answer is one short read transaction, so that the node's write-ahead log is not pinned.

use async_trait::async_trait;
use mojoscan_chia::Block;
use mojoscan_domain::{BlockId, Bytes32, Network};
use mojoscan_pipeline::{BlockSource, Peak, SourceError};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tracing::info;

/// How long a query waits while the node holds the database.
const BUSY: Duration = Duration::from_secs(10);
/// How often the peak is looked at while waiting for another.
const POLL: Duration = Duration::from_millis(100);

const PEAK: &str = "SELECT height, header_hash FROM full_blocks \
     WHERE header_hash = (SELECT hash FROM current_peak WHERE key = 0)";
const BLOCKS: &str = "SELECT height, block FROM full_blocks \
     WHERE in_main_chain = 1 AND height BETWEEN ?1 AND ?2 ORDER BY height";
const ID: &str = "SELECT height, header_hash FROM full_blocks WHERE in_main_chain = 1 AND height = ?1";

/// Longest time without anything written in which the node is taken to run: a file cannot say whether it does, and on
/// every network blocks come much more often.
const QUIET_MAX: Duration = Duration::from_secs(180);

/// A node's database file.
pub struct Database {
    path: PathBuf,
    immutable: bool,
    network: Option<Network>,
    open: Arc<Mutex<Open>>,
}

/// The file that is open. Another one may take its place while it is.
struct Open {
    connection: Connection,
    /// Device and number of the file.
    file: (u64, u64),
    /// What grows when somebody else writes, and when it was last seen to grow.
    version: i64,
    written: Instant,
}

impl Database {
    /// Opens the file. `immutable` promises that nobody writes it.
    ///
    /// # Errors
    /// [`SourceError::Broken`] if it is not there, not a node's database, or cannot be opened without writing beside
    /// it; the text says what to do.
    pub fn open(path: &Path, immutable: bool) -> Result<Self, SourceError> {
        if !path.is_file() {
            return Err(SourceError::Broken(format!("{}: there is no such file", path.display())));
        }
        let open = Open::new(path, immutable)?;
        let network = network(&open.connection, path)?;
        Ok(Self { path: path.to_owned(), immutable, network, open: Arc::new(Mutex::new(open)) })
    }

    /// Asks the file that is there now. Says with the answer for how long nobody has written.
    async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<(T, Duration), SourceError> {
        let (open, path, immutable) = (Arc::clone(&self.open), self.path.clone(), self.immutable);
        let work = move || {
            // a panic while it was locked leaves nothing behind in a connection that only reads
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            if file(&path)? != open.file {
                info!(file = %path.display(), "another database has taken its place");
                *open = Open::new(&path, immutable)?;
            }
            open.query(query).map_err(|error| explain(&path, &error))
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(answer) => answer,
            Err(error) => Err(SourceError::Broken(format!("reading the database failed: {error}"))),
        }
    }
}

#[async_trait]
impl BlockSource for Database {
    fn describe(&self) -> String {
        format!("database {}", self.path.display())
    }

    fn network(&self) -> Option<Network> {
        self.network
    }

    async fn peak(&self) -> Result<Peak, SourceError> {
        let (found, quiet) = self.query(|db| db.query_row(PEAK, [], id).optional()).await?;
        match found {
            // nobody writes a file that is immutable
            Some(block) if self.immutable => Ok(Peak { finished: true, ..Peak::now(block) }),
            Some(block) if quiet <= QUIET_MAX => Ok(Peak::now(block)),
            Some(block) => {
                let now = Peak::now(block);
                let quiet_ms = u64::try_from(quiet.as_millis()).unwrap_or(u64::MAX);
                Ok(Peak { heard_at_ms: now.heard_at_ms.saturating_sub(quiet_ms), ..now })
            }
            None => Err(SourceError::Unavailable(format!("{} has no peak yet", self.describe()))),
        }
    }

    async fn changed_peak(&self, known: BlockId, patience: Duration) -> Result<Peak, SourceError> {
        let until = Instant::now() + patience;
        loop {
            let peak = self.peak().await?;
            if peak.block != known || Instant::now() >= until {
                return Ok(peak);
            }
            tokio::time::sleep(POLL.min(until - Instant::now())).await;
        }
    }

    async fn blocks(&self, first: u32, last: u32) -> Result<Vec<Vec<u8>>, SourceError> {
        let (rows, _): (Vec<(u32, Vec<u8>)>, _) = self
            .query(move |db| {
                let mut statement = db.prepare_cached(BLOCKS)?;
                let rows = statement.query_map((first, last), |row| Ok((row.get(0)?, row.get(1)?)))?;
                rows.collect()
            })
            .await?;
        if !rows.iter().map(|(height, _)| *height).eq(first..=last) {
            return Err(SourceError::Missing { first, last });
        }
        let unpack = move || rows.iter().map(|(height, packed)| unpack(*height, packed)).collect();
        match tokio::task::spawn_blocking(unpack).await {
            Ok(blocks) => blocks,
            Err(error) => Err(SourceError::Broken(format!("reading the database failed: {error}"))),
        }
    }

    async fn find_id(&self, height: u32) -> Result<Option<BlockId>, SourceError> {
        let (found, _) = self.query(move |db| db.query_row(ID, [height], id).optional()).await?;
        Ok(found)
    }
}

impl Open {
    fn new(path: &Path, immutable: bool) -> Result<Self, SourceError> {
        let log = PathBuf::from(format!("{}-wal", path.display()));
        if immutable && log.metadata().is_ok_and(|log| log.len() > 0) {
            return Err(SourceError::Broken(format!(
                "{} is there: the node has not closed the database, and its last blocks are not in the file itself. \
                 Stop the node properly, or open the file without ?immutable=1",
                log.display()
            )));
        }
        let file = file(path)?;
        let connection = connect(path, immutable).map_err(|error| explain(path, &error))?;
        let version = version(&connection).map_err(|error| explain(path, &error))?;
        Ok(Self { connection, file, version, written: Instant::now() })
    }

    fn query<T>(
        &mut self,
        query: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<(T, Duration)> {
        let version = version(&self.connection)?;
        if version != self.version {
            (self.version, self.written) = (version, Instant::now());
        }
        let answer = query(&self.connection.transaction()?)?;
        Ok((answer, self.written.elapsed()))
    }
}

/// Device and number of the file that is there now.
fn file(path: &Path) -> Result<(u64, u64), SourceError> {
    let found =
        path.metadata().map_err(|error| SourceError::Unavailable(format!("{}: {error}", path.display())))?;
    Ok((found.dev(), found.ino()))
}

/// Grows whenever another connection has written.
fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
}

fn connect(path: &Path, immutable: bool) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut file = url::Url::from_file_path(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
        .map_or_else(|()| path.display().to_string(), String::from);
    if immutable {
        file.push_str("?immutable=1");
    }
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// The network, by the genesis challenge that block 0 names as its previous hash. None if there is no block yet.
fn network(connection: &Connection, path: &Path) -> Result<Option<Network>, SourceError> {
    let first = connection
        .query_row(BLOCKS, (0, 0), |row| row.get::<_, Vec<u8>>(1))
        .optional()
        .map_err(|error| explain(path, &error))?;
    let Some(packed) = first else { return Ok(None) };
    let block = Block::from_bytes(&unpack(0, &packed)?)
        .map_err(|error| SourceError::Broken(format!("{}: block 0: {error}", path.display())))?;
    let challenge = block.previous_hash();
    Network::from_genesis_challenge(challenge).map(Some).ok_or_else(|| {
        SourceError::Broken(format!(
            "{}: the genesis challenge {challenge} is of no known network",
            path.display()
        ))
    })
}

fn id(row: &rusqlite::Row<'_>) -> rusqlite::Result<BlockId> {
    Ok(BlockId { height: row.get(0)?, hash: Bytes32::new(row.get(1)?) })
}

fn unpack(height: u32, packed: &[u8]) -> Result<Vec<u8>, SourceError> {
    super::unpack(packed).map_err(|error| {
        SourceError::Broken(format!("block {height} of the database cannot be unpacked: {error}"))
    })
}

fn explain(path: &Path, error: &rusqlite::Error) -> SourceError {
    use rusqlite::ErrorCode;
    let name = path.display();
    let text = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            SourceError::Unavailable(format!("{name} is busy: {text}"))
        }
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            SourceError::Broken(format!(
                "{name} cannot be opened: {text}. SQLite keeps a shared-memory file beside it, so either its folder \
                 must be writable, or the node stopped and ?immutable=1 added to the source"
            ))
        }
        _ if text.contains("no such table") => SourceError::Broken(format!(
            "{name} is not a node's blockchain database ({text}): is it the file of the network you follow?"
        )),
        _ => SourceError::Broken(format!("{name} is damaged, or not a database: {text}")),
    }
}
