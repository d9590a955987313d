//! What a projection's tables know of themselves: what they were made for, and how far each partition is.
//!
//! | table | key | value |
//! |---|---|---|
//! | `<projection>_settings` | `id` = 0 | what the tables were made for |
//! | `<projection>_positions` | partition | the checkpoint, and the rewind that has begun and that has ended |
//! | `<projection>_watermarks` | partition and bucket of heights, height | the checkpoint at that watermark |
//!
//! A checkpoint is one cell, so that nobody ever reads half of one. A rewind is under way while the one that has begun
//! is newer than the one that has ended: two cells that only grow, so that no two writes of one timestamp differ.

use super::{Cql, Hash, Number, Statement, Writes, damaged};
use mojoscan_domain::record::Watermark;
use mojoscan_domain::{BlockId, Digest, Position};
use mojoscan_pipeline::{Partition, StoreError};
use scylla::{DeserializeValue, SerializeValue};
use std::collections::BTreeMap;

/// Heights in a partition of the table of watermarks.
const BUCKET_HEIGHTS: u32 = 1 << 15;

/// What tables were made for, by name. Rows made for one setting mean something else under another.
pub type Settings = BTreeMap<String, String>;

/// How far a partition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// The position.
    pub position: Position,
    /// The digest of the rows.
    pub digest: Digest,
    /// The height of the source's peak, as last heard.
    pub peak_height: u32,
    /// When the source was last heard from, in milliseconds since 1970; none if nothing more can come.
    pub heard_at_ms: Option<u64>,
    /// The lowest height whose changes can be undone.
    pub undo_floor: u32,
}

impl Checkpoint {
    /// Before the first record.
    pub const START: Self = Self {
        position: Position::START,
        digest: Digest::EMPTY,
        peak_height: 0,
        heard_at_ms: Some(0),
        undo_floor: 0,
    };

    /// The same rows at another position.
    #[must_use]
    pub const fn at(self, position: Position, digest: Digest) -> Self {
        Self { position, digest, ..self }
    }

    /// With what the watermark says of the source. From now on nothing further than `undo_depth` below the source's
    /// peak can be undone.
    #[must_use]
    pub fn heard(self, watermark: &Watermark, undo_depth: u32) -> Self {
        Self {
            peak_height: watermark.peak_height,
            heard_at_ms: watermark.heard_at_ms,
            undo_floor: self.undo_floor.max(watermark.peak_height.saturating_sub(undo_depth)),
            ..self
        }
    }

    /// The height of the position's block; none before the first.
    pub fn height(&self) -> Option<u32> {
        self.position.block.map(|block| block.height)
    }
}

/// A rewind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewinding {
    /// The sequence number of its record: the timestamp of everything it writes and deletes.
    pub seq: u64,
    /// The height that it began at: nothing above it has to be undone.
    pub from: Option<u32>,
}

/// How far a partition is, and whether a rewind to there is still under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// How far.
    pub checkpoint: Checkpoint,
    /// The rewind that has taken the position back and may not have undone everything above it yet.
    pub rewinding: Option<Rewinding>,
}

/// A checkpoint as one cell.
#[derive(Debug, SerializeValue, DeserializeValue)]
struct CheckpointCell {
    epoch: Number,
    height: Option<Number>,
    hash: Option<Hash>,
    seq: Number,
    next_offset: Number,
    digest: Hash,
    peak_height: Number,
    heard_at_ms: Option<Number>,
    undo_floor: Number,
}

/// The tables of what a projection knows of itself.
#[derive(Debug, Clone)]
pub struct Meta {
    find_state: Statement,
    put_checkpoint: Statement,
    put_rewinding: Statement,
    put_rewound: Statement,
    find_watermark: Statement,
    put_watermark: Statement,
    forget_watermarks: Statement,
}

impl Meta {
    /// Opens the tables of one projection. The first who opens them says what they are for.
    ///
    /// # Errors
    /// [`StoreError::Broken`] in one line if they were made for something else, or are not there.
    pub async fn open(cql: &Cql, projection: &str, settings: &Settings) -> Result<Self, StoreError> {
        bind(cql, projection, settings).await?;
        let positions = format!("{projection}_positions");
        let watermarks = format!("{projection}_watermarks");
        let prepare = async |text: String| cql.prepare(&text).await;
        Ok(Self {
            find_state: prepare(format!(
                "SELECT checkpoint, rewinding, rewound FROM {positions} WHERE shard = ?"
            ))
            .await?,
            put_checkpoint: prepare(format!("INSERT INTO {positions} (shard, checkpoint) VALUES (?, ?)"))
                .await?,
            put_rewinding: prepare(format!(
                "INSERT INTO {positions} (shard, checkpoint, rewinding) VALUES (?, ?, ?)"
            ))
            .await?,
            put_rewound: prepare(format!("INSERT INTO {positions} (shard, rewound) VALUES (?, ?)")).await?,
            find_watermark: prepare(format!(
                "SELECT checkpoint FROM {watermarks} WHERE shard = ? AND bucket = ? AND height = ?"
            ))
            .await?,
            put_watermark: prepare(format!(
                "INSERT INTO {watermarks} (shard, bucket, height, checkpoint) VALUES (?, ?, ?, ?)"
            ))
            .await?,
            forget_watermarks: prepare(format!(
                "DELETE FROM {watermarks} WHERE shard = ? AND bucket = ? AND height >= ?"
            ))
            .await?,
        })
    }

    /// How far a partition is.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] or [`StoreError::Broken`] if it cannot be read.
    pub async fn state(&self, cql: &Cql, partition: Partition) -> Result<State, StoreError> {
        type Row = (Option<CheckpointCell>, Option<(Number, Option<Number>)>, Option<Number>);
        let row = cql.find::<Row>(&self.find_state, (Number::from(partition),)).await?;
        let Some((checkpoint, rewinding, rewound)) = row else {
            return Ok(State { checkpoint: Checkpoint::START, rewinding: None });
        };
        let checkpoint = checkpoint.map_or(Ok(Checkpoint::START), Checkpoint::try_from)?;
        let rewinding = match rewinding {
            Some((seq, from)) if rewound.is_none_or(|rewound| rewound < seq) => {
                Some(Rewinding { seq: seq.0, from: from.map(Number::height).transpose()? })
            }
            _ => None,
        };
        Ok(State { checkpoint, rewinding })
    }

    /// The checkpoint that was written at this very height, if one was.
    ///
    /// # Errors
    /// As [`Meta::state`].
    pub async fn find_at(
        &self,
        cql: &Cql,
        partition: Partition,
        height: u32,
    ) -> Result<Option<Checkpoint>, StoreError> {
        let key = (Number::from(partition), bucket(height), Number::from(height));
        let row = cql.find::<(CheckpointCell,)>(&self.find_watermark, key).await?;
        row.map(|(cell,)| Checkpoint::try_from(cell)).transpose()
    }

    /// Adds the checkpoint to those that are found by their height.
    ///
    /// # Errors
    /// As [`Writes::push`].
    pub fn remember(
        &self,
        writes: &mut Writes,
        partition: Partition,
        checkpoint: &Checkpoint,
    ) -> Result<(), StoreError> {
        let Some(height) = checkpoint.height() else { return Ok(()) };
        let key = (Number::from(partition), bucket(height), Number::from(height));
        writes.push(&self.put_watermark, (key.0, key.1, key.2, CheckpointCell::from(checkpoint)))
    }

    /// Moves the position.
    ///
    /// # Errors
    /// As [`Writes::push`].
    pub fn advance(
        &self,
        writes: &mut Writes,
        partition: Partition,
        checkpoint: &Checkpoint,
    ) -> Result<(), StoreError> {
        writes.push(&self.put_checkpoint, (Number::from(partition), CheckpointCell::from(checkpoint)))
    }

    /// Moves the position back, and says that what is above it is to be undone, from a height downwards.
    ///
    /// # Errors
    /// As [`Writes::push`].
    pub fn begin_rewind(
        &self,
        writes: &mut Writes,
        partition: Partition,
        checkpoint: &Checkpoint,
        from: Option<u32>,
    ) -> Result<(), StoreError> {
        let rewinding = (Number(checkpoint.position.seq), from.map(Number::from));
        let cell = CheckpointCell::from(checkpoint);
        writes.push(&self.put_rewinding, (Number::from(partition), cell, rewinding))
    }

    /// Forgets the checkpoints above the position of a rewind that began at a height.
    ///
    /// # Errors
    /// As [`Writes::push`].
    pub fn forget_above(
        &self,
        writes: &mut Writes,
        partition: Partition,
        to: Option<u32>,
        from: Option<u32>,
    ) -> Result<(), StoreError> {
        let (first, Some(last)) = (to.map_or(0, |height| height + 1), from) else { return Ok(()) };
        for bucket in first / BUCKET_HEIGHTS..=last / BUCKET_HEIGHTS {
            let key = (Number::from(partition), Number::from(bucket), Number::from(first));
            writes.push(&self.forget_watermarks, key)?;
        }
        Ok(())
    }

    /// Says that everything above the position of a rewind is undone.
    ///
    /// # Errors
    /// As [`Writes::push`].
    pub fn end_rewind(&self, writes: &mut Writes, partition: Partition, seq: u64) -> Result<(), StoreError> {
        writes.push(&self.put_rewound, (Number::from(partition), Number(seq)))
    }
}

fn bucket(height: u32) -> Number {
    Number::from(height / BUCKET_HEIGHTS)
}

/// Says what the tables are for, or checks that they are for this.
async fn bind(cql: &Cql, projection: &str, settings: &Settings) -> Result<(), StoreError> {
    let table = format!("{projection}_settings");
    let find = cql.prepare(&format!("SELECT settings FROM {table} WHERE id = 0")).await?;
    let mut found = cql.find::<(Settings,)>(&find, ()).await?;
    if found.is_none() {
        let put = cql.prepare(&format!("INSERT INTO {table} (id, settings) VALUES (?, ?)")).await?;
        let mut writes = Writes::default();
        writes.push(&put, (Number(0), settings))?;
        // of two who are first at once the greater settings win, for both, once both are written
        cql.write(1, writes).await?;
        found = cql.find::<(Settings,)>(&find, ()).await?;
    }
    let (made_for,) = found.ok_or_else(|| damaged("its settings are gone"))?;
    for name in settings.keys().chain(made_for.keys()) {
        let (wanted, made) = (settings.get(name), made_for.get(name));
        if wanted != made {
            let show = |value: Option<&String>| value.map_or_else(|| "nothing".to_owned(), Clone::clone);
            return Err(StoreError::Broken(format!(
                "the {projection} tables of keyspace {} were made for {name} = {}, not for {}; use another keyspace",
                cql.keyspace(),
                show(made),
                show(wanted),
            )));
        }
    }
    Ok(())
}

impl From<&Checkpoint> for CheckpointCell {
    fn from(checkpoint: &Checkpoint) -> Self {
        let position = checkpoint.position;
        Self {
            epoch: Number(position.epoch),
            height: position.block.map(|block| block.height.into()),
            hash: position.block.map(|block| Hash(block.hash)),
            seq: Number(position.seq),
            next_offset: Number(position.offset),
            digest: Hash(checkpoint.digest.to_bytes32()),
            peak_height: checkpoint.peak_height.into(),
            heard_at_ms: checkpoint.heard_at_ms.map(Number),
            undo_floor: checkpoint.undo_floor.into(),
        }
    }
}

impl TryFrom<CheckpointCell> for Checkpoint {
    type Error = StoreError;

    fn try_from(cell: CheckpointCell) -> Result<Self, StoreError> {
        let block = match (cell.height, cell.hash) {
            (Some(height), Some(Hash(hash))) => Some(BlockId { height: height.height()?, hash }),
            (None, None) => None,
            _ => return Err(damaged("half of a block in a checkpoint")),
        };
        Ok(Self {
            position: Position { epoch: cell.epoch.0, block, seq: cell.seq.0, offset: cell.next_offset.0 },
            digest: cell.digest.0.into(),
            peak_height: cell.peak_height.height()?,
            heard_at_ms: cell.heard_at_ms.map(|at| at.0),
            undo_floor: cell.undo_floor.height()?,
        })
    }
}
