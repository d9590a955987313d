//! Database files that are missing, truncated, of something else, or wrong in a row.

use super::support::{Built, Outcome, TWICE, chain, ingest, simulated};
use mojoscan_domain::Network;
use mojoscan_ingestor::source::database::Database;
use mojoscan_ingestor::source::{self, SourceUrl};
use mojoscan_pipeline::{BlockEvents, BlockSource, Peak, SourceError};
use rusqlite::{Connection, params};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// The tables of a node's database, as far as they are read, and one that is not.
const TABLES: &str = "
    CREATE TABLE full_blocks(header_hash blob PRIMARY KEY, prev_hash blob, height bigint, sub_epoch_summary blob,
        is_fully_compactified tinyint, in_main_chain tinyint, block blob, block_record blob);
    CREATE INDEX main_chain ON full_blocks(height, in_main_chain) WHERE in_main_chain = 1;
    CREATE TABLE current_peak(key int PRIMARY KEY, hash blob);
    CREATE TABLE database_version(version int);";

/// A database file in a folder that goes with it.
struct File {
    path: PathBuf,
    _folder: TempDir,
}

impl File {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { path: folder.path().join("blockchain.sqlite"), _folder: folder }
    }

    /// One that holds a chain, as a node writes it.
    fn of(chain: &[Built]) -> Self {
        let file = Self::new();
        let database = Connection::open(&file.path).unwrap();
        database.execute_batch(TABLES).unwrap();
        for built in chain {
            insert(&database, built);
        }
        let peak = chain.last().unwrap().id.hash.to_bytes();
        database.execute("INSERT INTO current_peak VALUES(0, ?)", params![peak]).unwrap();
        file
    }

    fn change(&self, sql: &str, parameters: impl rusqlite::Params) {
        let changed = Connection::open(&self.path).unwrap().execute(sql, parameters).unwrap();
        assert_eq!(changed, 1, "{sql}");
    }

    fn refused(&self) -> String {
        match Database::open(&self.path, false) {
            Err(SourceError::Broken(reason)) => reason,
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("it was opened"),
        }
    }

    async fn ingest(&self, chain: &[Built], patience: Duration) -> Outcome {
        let source = Database::open(&self.path, false).unwrap();
        ingest(source, Network::Simulator0, patience, chain.last().unwrap().id).await
    }
}

fn insert(database: &Connection, built: &Built) {
    let row = params![
        built.id.hash.to_bytes(),
        built.previous.to_bytes(),
        built.id.height,
        zstd::encode_all(&built.bytes[..], 3).unwrap()
    ];
    let sql = "INSERT INTO full_blocks VALUES(?, ?, ?, NULL, 0, 1, ?, NULL)";
    database.execute(sql, row).unwrap();
}

async fn truth(chain: &[Built]) -> Vec<BlockEvents> {
    let outcome = File::of(chain).ingest(chain, TWICE).await;
    assert_eq!((outcome.error, outcome.published.len()), (None, chain.len()));
    outcome.published
}

#[test]
fn what_is_no_database_is_refused() {
    let file = File::new();
    assert!(file.refused().contains("there is no such file"));
    let texts: [(&[u8], &str); 4] = [
        (b"this is not a database, whatever its name says; it goes on for a while, though", "not a database"),
        (&[0; 8192], "not a database"),
        (b"", "not a node's blockchain database"),
        (b"SQLite format 3\0", "not a database"),
    ];
    for (bytes, expected) in texts {
        fs::write(&file.path, bytes).unwrap();
        let reason = file.refused();
        assert!(reason.contains("blockchain.sqlite") && reason.contains(expected), "{reason}");
    }
    fs::remove_file(&file.path).unwrap();
    fs::create_dir(&file.path).unwrap();
    assert!(file.refused().contains("there is no such file"));
}

#[test]
fn a_database_of_something_else_is_refused() {
    let file = File::new();
    Connection::open(&file.path).unwrap().execute_batch("CREATE TABLE songs(title text)").unwrap();
    assert!(file.refused().contains("not a node's blockchain database (no such table"));
    let file = File::new();
    let columns = "CREATE TABLE full_blocks(height int, in_main_chain int)";
    Connection::open(&file.path).unwrap().execute_batch(columns).unwrap();
    assert!(file.refused().contains("no such column"));
}

#[tokio::test]
async fn a_database_of_another_network_is_refused() {
    let mainnet = chain(Network::Mainnet, 3, 0);
    let file = File::of(&mainnet);
    let url = SourceUrl::Database { path: file.path.clone(), immutable: false };
    let refused = source::open(&url, Some(Network::Simulator0), b"").await.err();
    assert!(matches!(refused, Some(SourceError::Broken(reason)) if reason.contains("carries mainnet")));
    // one that begins with nobody's genesis challenge
    let file = File::of(&simulated()[1..]);
    file.change("UPDATE full_blocks SET height = 0 WHERE height = 1", []);
    assert!(file.refused().contains("is of no known network"));
    // and one whose first block is right, and whose others are of another network
    let (simulated, file) = (simulated(), File::of(&simulated()));
    let other = zstd::encode_all(&mainnet[1].bytes[..], 3).unwrap();
    file.change("UPDATE full_blocks SET block = ? WHERE height = 1", [other]);
    let outcome = file.ingest(&simulated, TWICE).await;
    assert!(outcome.said().contains("does not stand on the one before"), "{}", outcome.said());
    assert_eq!(outcome.ever, []);
}

/// At every length the file may have been cut to: not opened, or an error, or the truth.
#[tokio::test]
async fn truncated_anywhere_nothing_untrue_is_published() {
    let chain = simulated();
    let truth = truth(&chain).await;
    let whole = fs::read(File::of(&chain).path).unwrap();
    let file = File::new();
    for length in (0..whole.len()).step_by(97).chain((0..whole.len()).step_by(512)) {
        fs::write(&file.path, &whole[..length]).unwrap();
        match Database::open(&file.path, false) {
            Err(error) => assert!(matches!(error, SourceError::Broken(_)), "{length}: {error:?}"),
            Ok(source) => {
                let until = chain.last().unwrap().id;
                let outcome = ingest(source, Network::Simulator0, Duration::ZERO, until).await;
                outcome.is_part_of(&truth);
            }
        }
    }
}

#[tokio::test]
async fn a_missing_row_is_waited_for() {
    let chain = simulated();
    let truth = truth(&chain).await;
    for height in [0, 3, 5] {
        let file = File::of(&chain);
        file.change("DELETE FROM full_blocks WHERE height = ?", [height]);
        let outcome = file.ingest(&chain, TWICE).await;
        let said = outcome.said();
        assert!(said.contains("does not have blocks") || said.contains("has no peak"), "{said}");
        assert_eq!(outcome.ever, [], "{height}");
        // it comes while the ingestor waits
        let source = Database::open(&file.path, false).unwrap();
        let until = chain.last().unwrap().id;
        let waiting = ingest(source, Network::Simulator0, Duration::from_secs(60), until);
        let (path, built) = (file.path.clone(), chain[height as usize].clone());
        let comes = async move {
            insert(&Connection::open(path).unwrap(), &built);
        };
        let (outcome, ()) = tokio::join!(waiting, comes);
        assert_eq!((outcome.error, outcome.published), (None, truth.clone()));
    }
}

/// The node was given another database, as from a checkpoint.
#[tokio::test]
async fn a_database_that_takes_the_place_of_another_is_read() {
    let (old, new) = (File::of(&chain(Network::Simulator0, 3, 7)), File::of(&simulated()));
    let source = Database::open(&old.path, false).unwrap();
    assert_eq!(source.peak().await.unwrap().block.height, 2);
    fs::remove_file(&old.path).unwrap();
    let gone = source.peak().await;
    assert!(
        matches!(&gone, Err(SourceError::Unavailable(reason)) if reason.contains("No such file")),
        "{gone:?}"
    );
    fs::rename(&new.path, &old.path).unwrap();
    assert_eq!(source.peak().await.unwrap().block, simulated()[5].id);
    assert_eq!(source.find_id(2).await, Ok(Some(simulated()[2].id)));
}

/// A file cannot say whether its node runs. While it writes it does.
#[tokio::test(start_paused = true)]
async fn a_file_that_nobody_writes_is_not_heard_from() {
    let simulated = simulated();
    let file = File::of(&simulated);
    let source = Database::open(&file.path, false).unwrap();
    let age = async || {
        let heard_at_ms = source.peak().await.unwrap().heard_at_ms;
        Peak::now(simulated[5].id).heard_at_ms - heard_at_ms
    };
    let (soon, hour) = (60_000, 3_600_000);
    assert!(age().await < soon);
    tokio::time::advance(Duration::from_millis(hour)).await;
    assert!((hour..hour + soon).contains(&age().await));
    file.change("UPDATE full_blocks SET is_fully_compactified = 1 WHERE height = 1", []);
    assert!(age().await < soon);
    // of a file that nobody may write there is nothing to wait for
    let peak = Database::open(&file.path, true).unwrap().peak().await.unwrap();
    assert!(peak.finished);
    drop(source);
    let log = PathBuf::from(format!("{}-wal", file.path.display()));
    fs::write(log, "what the node has not yet put into the file").unwrap();
    let torn = Database::open(&file.path, true).err();
    assert!(
        matches!(&torn, Some(SourceError::Broken(reason)) if reason.contains("-wal is there")),
        "{torn:?}"
    );
}

#[tokio::test]
async fn a_row_with_something_else_is_refused() {
    let (chain, other) = (simulated(), chain(Network::Simulator0, 6, 9));
    let truth = truth(&chain).await;
    let packed = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
    let cut = {
        let mut whole = packed(&chain[3].bytes);
        whole.truncate(whole.len() / 2);
        whole
    };
    let cases = [
        ("block 3 of the database cannot be unpacked", 3, b"garbage".to_vec()),
        ("block 3 of the database cannot be unpacked", 3, vec![]),
        ("block 3 of the database cannot be unpacked", 3, cut),
        ("larger than a block can be", 3, packed(&vec![0; (64 << 20) + 1])),
        ("not a FullBlock", 3, packed(b"garbage")),
        ("gives block 4", 3, packed(&chain[4].bytes)),
        ("does not stand on the one before", 3, packed(&other[3].bytes)),
        ("does not stand on the one before", 5, packed(&other[5].bytes)),
    ];
    for (expected, height, bytes) in cases {
        let file = File::of(&chain);
        file.change("UPDATE full_blocks SET block = ? WHERE height = ?", params![bytes, height]);
        let outcome = file.ingest(&chain, TWICE).await;
        assert!(outcome.said().contains(expected), "{}", outcome.said());
        outcome.is_part_of(&truth);
        assert!(outcome.published.len() <= height as usize);
    }
    let file = File::of(&chain);
    file.change("UPDATE full_blocks SET block = 17 WHERE height = 4", []);
    let said = file.ingest(&chain, TWICE).await.said();
    assert!(said.contains("is damaged"), "{said}");
    file.change("UPDATE current_peak SET hash = x'00'", []);
    let source = Database::open(&file.path, false).unwrap();
    assert!(
        matches!(source.peak().await, Err(SourceError::Unavailable(reason)) if reason.contains("no peak"))
    );
}

/// Every few bytes of a block, in the middle and at the tip: an error, or a change that says nothing about coins.
#[tokio::test]
async fn a_changed_byte_of_a_block_changes_nothing_that_is_published() {
    let chain = simulated();
    let truth = truth(&chain).await;
    let file = File::of(&chain);
    for height in [2_u32, 5] {
        let (mut refused, whole) = (0, &chain[height as usize].bytes);
        for at in (0..whole.len()).step_by(5) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x11;
            let packed = zstd::encode_all(&bytes[..], 1).unwrap();
            file.change("UPDATE full_blocks SET block = ? WHERE height = ?", params![packed, height]);
            let outcome = file.ingest(&chain, Duration::ZERO).await;
            outcome.is_part_of(&truth);
            refused += usize::from(outcome.error.is_some());
        }
        assert!(refused > whole.len() / 10, "{refused} of {}", whole.len() / 5);
        let packed = zstd::encode_all(&whole[..], 1).unwrap();
        file.change("UPDATE full_blocks SET block = ? WHERE height = ?", params![packed, height]);
    }
}
