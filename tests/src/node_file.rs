//! A node's database file with a chain that the test moves, for services in processes of their own.

use crate::chain::Blocks;
use rusqlite::{Connection, params};
use std::path::{Path, PathBuf};

/// As a node makes them; the service reads no other tables.
const TABLES: &str = "PRAGMA journal_mode = WAL;
    CREATE TABLE full_blocks(header_hash blob PRIMARY KEY, prev_hash blob, height bigint, sub_epoch_summary blob,
        is_fully_compactified tinyint, in_main_chain tinyint, block blob, block_record blob);
    CREATE INDEX main_chain ON full_blocks(height, in_main_chain) WHERE in_main_chain = 1;
    CREATE TABLE current_peak(key int PRIMARY KEY, hash blob);";

/// A node's database file with a chain that the test moves.
pub struct NodeFile {
    path: PathBuf,
    connection: Connection,
}

impl NodeFile {
    /// Makes the file, with a chain.
    pub fn new(folder: &Path, blocks: &Blocks) -> Self {
        let path = folder.join("blockchain_v2_simulator0.sqlite");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(TABLES).unwrap();
        let mut file = Self { path, connection };
        file.set(blocks);
        file
    }

    /// It as a source.
    pub fn source(&self) -> String {
        format!("db://{}", self.path.display())
    }

    /// Loses a block of the chain.
    pub fn lose(&self, height: u32) {
        let lost = self.connection.execute("DELETE FROM full_blocks WHERE height = ?", [height]).unwrap();
        assert_eq!(lost, 1);
    }

    /// Swaps the chain for another, as a node does: at once.
    pub fn set(&mut self, blocks: &Blocks) {
        let transaction = self.connection.transaction().unwrap();
        transaction.execute("UPDATE full_blocks SET in_main_chain = 0", []).unwrap();
        for block in &**blocks {
            let (hash, packed) = (block.id.hash.to_bytes(), zstd::encode_all(&block.bytes[..], 1).unwrap());
            transaction
                .execute(
                    "INSERT INTO full_blocks(header_hash, height, in_main_chain, block) VALUES (?, ?, 1, ?)
                     ON CONFLICT DO UPDATE SET in_main_chain = 1",
                    params![hash, block.id.height, packed],
                )
                .unwrap();
        }
        let peak = blocks.last().unwrap().id.hash.to_bytes();
        transaction.execute("INSERT OR REPLACE INTO current_peak VALUES (0, ?)", [peak]).unwrap();
        transaction.commit().unwrap();
    }
}
