//! Plays a recording as if it were a node: peak after peak.

use super::super::unpack;
use super::format::{Entry, Index, index};
use async_trait::async_trait;
use mojoscan_domain::{BlockId, Network};
use mojoscan_pipeline::{BlockSource, Peak, SourceError};
use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A recording, as a source of blocks. It goes on to the next peak when it is asked to wait for one.
pub struct Recording {
    name: String,
    bytes: Bytes,
    index: Index,
    state: Mutex<State>,
}

/// Where the recording's bytes are.
#[derive(Clone)]
enum Bytes {
    Memory(&'static [u8]),
    File(Arc<File>),
}

/// How far it was played.
struct State {
    /// Peaks played, at least one.
    played: usize,
    /// The chain that ends in the last of them, by height.
    chain: Vec<Entry>,
}

impl Recording {
    /// Opens a file, and checks all of it.
    ///
    /// # Errors
    /// [`SourceError::Broken`] says what is wrong with the file.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        let file =
            File::open(path).map_err(|error| SourceError::Broken(format!("recording {name}: {error}")))?;
        let index = index(&name, BufReader::with_capacity(1 << 20, &file))?;
        Ok(Self::new(name, Bytes::File(Arc::new(file)), index))
    }

    /// Takes a recording from memory, and checks all of it.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn from_bytes(name: &str, bytes: &'static [u8]) -> Result<Self, SourceError> {
        Ok(Self::new(name.to_owned(), Bytes::Memory(bytes), index(name, bytes)?))
    }

    fn new(name: String, bytes: Bytes, index: Index) -> Self {
        let mut state = State { played: 0, chain: vec![] };
        state.play(&index);
        Self { name, bytes, index, state: Mutex::new(state) }
    }

    fn with_state<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        // every change of the state is complete before the lock is released
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn peak_now(&self) -> Result<Peak, SourceError> {
        self.with_state(|state| {
            let finished = state.played == self.index.steps.len();
            let last = state.chain.last().map(|entry| Peak { finished, ..Peak::now(entry.id) });
            last.ok_or_else(|| SourceError::Broken(format!("recording {} is empty", self.name)))
        })
    }
}

impl State {
    /// Plays one more peak; does nothing at the end.
    fn play(&mut self, index: &Index) {
        let Some(step) = index.steps.get(self.played) else { return };
        let first = step.first().map_or(self.chain.len(), |entry| entry.id.height as usize);
        self.chain.truncate(first);
        self.chain.extend_from_slice(step);
        self.played += 1;
    }

    fn holds(&self, block: BlockId) -> bool {
        self.chain.get(block.height as usize).is_some_and(|entry| entry.id == block)
    }
}

#[async_trait]
impl BlockSource for Recording {
    fn describe(&self) -> String {
        format!("recording {}", self.name)
    }

    fn network(&self) -> Option<Network> {
        Some(self.index.network)
    }

    /// Goes on from the last peak whose chain holds the reader's block.
    async fn resume(&self, at: Option<BlockId>) -> Result<(), SourceError> {
        let Some(block) = at else { return Ok(()) };
        let mut trial = State { played: 0, chain: vec![] };
        let mut last = 1;
        for step in 1..=self.index.steps.len() {
            trial.play(&self.index);
            if trial.holds(block) {
                last = step;
            }
        }
        self.with_state(|state| {
            while state.played < last {
                state.play(&self.index);
            }
        });
        Ok(())
    }

    async fn peak(&self) -> Result<Peak, SourceError> {
        self.peak_now()
    }

    async fn changed_peak(&self, known: BlockId, patience: Duration) -> Result<Peak, SourceError> {
        let peak = self.peak_now()?;
        if peak.block != known {
            return Ok(peak);
        }
        if peak.finished {
            tokio::time::sleep(patience).await;
        }
        self.with_state(|state| state.play(&self.index));
        self.peak_now()
    }

    async fn blocks(&self, first: u32, last: u32) -> Result<Vec<Vec<u8>>, SourceError> {
        let entries: Option<Vec<Entry>> =
            self.with_state(|state| state.chain.get(first as usize..=last as usize).map(<[Entry]>::to_vec));
        let entries = entries.ok_or(SourceError::Missing { first, last })?;
        let (bytes, name) = (self.bytes.clone(), self.name.clone());
        let work = move || entries.iter().map(|entry| bytes.unpack(&name, entry)).collect();
        match tokio::task::spawn_blocking(work).await {
            Ok(blocks) => blocks,
            Err(error) => Err(SourceError::Broken(format!("reading the recording failed: {error}"))),
        }
    }

    async fn find_id(&self, height: u32) -> Result<Option<BlockId>, SourceError> {
        Ok(self.with_state(|state| state.chain.get(height as usize).map(|entry| entry.id)))
    }
}

impl Bytes {
    fn unpack(&self, name: &str, entry: &Entry) -> Result<Vec<u8>, SourceError> {
        let broken = |error: std::io::Error| {
            SourceError::Broken(format!("recording {name}: block {}: {error}", entry.id))
        };
        match self {
            Self::Memory(bytes) => {
                let packed = usize::try_from(entry.offset)
                    .ok()
                    .and_then(|offset| bytes.get(offset..offset + entry.length))
                    .unwrap_or_default();
                unpack(packed).map_err(broken)
            }
            Self::File(file) => {
                let mut packed = vec![0; entry.length];
                file.read_exact_at(&mut packed, entry.offset).map_err(broken)?;
                unpack(&packed).map_err(broken)
            }
        }
    }
}
