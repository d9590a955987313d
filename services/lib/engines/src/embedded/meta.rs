//! What a store knows of itself: what it was made for, and how far it is.

use super::{Embedded, Key, broken, decode, encode};
use fjall::{Keyspace, OwnedWriteBatch, Readable, Snapshot};
use mojoscan_domain::record::Watermark;
use mojoscan_domain::{BlockId, Bytes32, Digest, Position};
use mojoscan_pipeline::StoreError;
use serde::{Deserialize, Serialize};

const SETTINGS: &[u8] = b"settings";
const CHECKPOINT: &[u8] = b"checkpoint";

/// What a store was made for. Fixed when it is made: rows made for one setting mean something else under another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Version of the rows' layout.
    pub layout: u32,
    /// Name of the network.
    pub network: String,
    /// XCH coins below this many mojos are dust.
    pub dust_below: u64,
}

/// How far a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    epoch: u64,
    block: Option<(u32, Bytes32)>,
    seq: u64,
    offset: u64,
    digest: Bytes32,
    peak_height: u32,
    heard_at_ms: Option<u64>,
    undo_floor: u32,
}

impl Checkpoint {
    /// Before the first record.
    pub const START: Self = Self {
        epoch: 0,
        block: None,
        seq: 0,
        offset: 0,
        digest: Bytes32::ZERO,
        peak_height: 0,
        heard_at_ms: Some(0),
        undo_floor: 0,
    };

    /// The same rows at another position.
    #[must_use]
    pub fn at(self, position: Position, digest: Digest) -> Self {
        Self {
            epoch: position.epoch,
            block: position.block.map(|block| (block.height, block.hash)),
            seq: position.seq,
            offset: position.offset,
            digest: digest.to_bytes32(),
            ..self
        }
    }

    /// With what the watermark says of the source.
    #[must_use]
    pub const fn heard(self, watermark: &Watermark) -> Self {
        Self { peak_height: watermark.peak_height, heard_at_ms: watermark.heard_at_ms, ..self }
    }

    /// From now on nothing below this height can be undone.
    #[must_use]
    pub fn undo_floor_raised(self, height: u32) -> Self {
        Self { undo_floor: self.undo_floor.max(height), ..self }
    }

    /// The lowest height whose changes can be undone.
    pub const fn undo_floor(&self) -> u32 {
        self.undo_floor
    }

    /// The position.
    pub fn position(&self) -> Position {
        let block = self.block.map(|(height, hash)| BlockId { height, hash });
        Position { epoch: self.epoch, block, seq: self.seq, offset: self.offset }
    }

    /// The digest of the rows.
    pub fn digest(&self) -> Digest {
        self.digest.into()
    }

    /// The height of the source's peak, as last heard.
    pub const fn peak_height(&self) -> u32 {
        self.peak_height
    }

    /// When the source was last heard from, in milliseconds since 1970; none if nothing more can come.
    pub const fn heard_at_ms(&self) -> Option<u64> {
        self.heard_at_ms
    }
}

/// The table of what a store knows of itself.
#[derive(Clone)]
pub struct Meta {
    table: Keyspace,
    watermarks: Keyspace,
}

impl Meta {
    /// Opens the tables of one projection.
    ///
    /// # Errors
    /// [`StoreError::Broken`] if the store was made for other settings, naming both.
    pub fn open(embedded: &Embedded, projection: &str, settings: &Settings) -> Result<Self, StoreError> {
        let table = embedded.table(&format!("{projection}.meta"))?;
        let watermarks = embedded.table(&format!("{projection}.watermarks"))?;
        match table.get(SETTINGS).map_err(broken)? {
            None => {
                let mut batch = embedded.batch();
                batch.insert(&table, SETTINGS, encode(settings)?);
                fail::fail_point!("settings-before-commit");
                batch.commit().map_err(broken)?;
                fail::fail_point!("settings-after-commit");
            }
            Some(bytes) => {
                let made_for: Settings = decode(&bytes)?;
                if made_for != *settings {
                    return Err(StoreError::Broken(format!(
                        "the {projection} store was made for {made_for:?}, not for {settings:?}; use another data folder"
                    )));
                }
            }
        }
        Ok(Self { table, watermarks })
    }

    /// How far the store is, in a view.
    ///
    /// # Errors
    /// [`StoreError::Broken`] if it cannot be read.
    pub fn checkpoint(&self, view: &Snapshot) -> Result<Checkpoint, StoreError> {
        match view.get(&self.table, CHECKPOINT).map_err(broken)? {
            Some(bytes) => decode(&bytes),
            None => Ok(Checkpoint::START),
        }
    }

    /// Writes how far the store is. A checkpoint at a watermark is remembered by its height as well.
    ///
    /// # Errors
    /// As [`encode`].
    pub fn write(&self, batch: &mut OwnedWriteBatch, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        let bytes = encode(checkpoint)?;
        if let Some((height, _)) = checkpoint.block {
            batch.insert(&self.watermarks, Key::new().height(height), bytes.clone());
        }
        batch.insert(&self.table, CHECKPOINT, bytes);
        Ok(())
    }

    /// The checkpoint that was written at this very height, if one was and the chain still leads through it.
    ///
    /// # Errors
    /// [`StoreError::Broken`] if it cannot be read.
    pub fn find_at(&self, view: &Snapshot, height: u32) -> Result<Option<Checkpoint>, StoreError> {
        view.get(&self.watermarks, Key::new().height(height))
            .map_err(broken)?
            .map(|bytes| decode(&bytes))
            .transpose()
    }

    /// Forgets the checkpoints above a height; all of them without one.
    ///
    /// # Errors
    /// [`StoreError::Broken`] if they cannot be read.
    pub fn forget_above(
        &self,
        view: &Snapshot,
        batch: &mut OwnedWriteBatch,
        height: Option<u32>,
    ) -> Result<(), StoreError> {
        let first = height.map_or(0, |height| height + 1);
        for guard in view.range(&self.watermarks, Key::new().height(first)..) {
            batch.remove(&self.watermarks, guard.key().map_err(broken)?);
        }
        Ok(())
    }
}
