//! The file: checked, and read into an index.

use mojoscan_domain::{BlockId, Bytes32, Network};
use mojoscan_pipeline::SourceError;
use sha2::{Digest as _, Sha256};
use std::io::Read;

/// The first bytes of a recording.
pub(super) const MAGIC: &[u8] = b"mojoscan recording 1\n";
/// Most bytes of an entry.
pub(super) const ENTRY_BYTES_MAX: u32 = 64 << 20;
/// Bytes before an entry's content.
const ENTRY_HEAD: u64 = 5;
/// Bytes of a block id.
pub(super) const ID_BYTES: usize = 36;

pub(super) const NETWORK: u8 = b'N';
pub(super) const BLOCK: u8 = b'B';
pub(super) const PEAK: u8 = b'P';
pub(super) const END: u8 = b'E';

/// Where a block's compressed bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: BlockId,
    pub(super) offset: u64,
    pub(super) length: usize,
}

/// What a recording holds.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) network: Network,
    /// For each peak, the blocks that led to it from the peak before.
    pub(super) steps: Vec<Vec<Entry>>,
}

/// Reads and checks a whole recording.
pub(super) fn index(name: &str, file: impl Read) -> Result<Index, SourceError> {
    let mut reader = Checked { name, file, hasher: Sha256::new(), offset: 0 };
    let magic = reader.bytes(MAGIC.len())?;
    if magic != MAGIC {
        return Err(reader.broken("it does not begin as a recording does"));
    }
    let (kind, content) = reader.entry()?;
    let network = match (kind, std::str::from_utf8(&content)) {
        (NETWORK, Ok(text)) => text.parse::<Network>().map_err(|error| reader.broken(&error.to_string()))?,
        _ => return Err(reader.broken("its first entry does not name a network")),
    };
    let (mut steps, mut open) = (vec![], vec![]);
    loop {
        let hash = reader.hasher.clone().finalize();
        let (kind, content) = reader.entry()?;
        match kind {
            BLOCK => open.push(reader.block(&content)?),
            PEAK => {
                reader.step(&content, steps.last().and_then(|step: &Vec<Entry>| step.last()), &open)?;
                steps.push(std::mem::take(&mut open));
            }
            END if content == hash.as_slice() && open.is_empty() && !steps.is_empty() => break,
            END => return Err(reader.broken("its checksum does not match: it is damaged")),
            _ => {
                return Err(
                    reader.broken(&format!("an entry of unknown kind {kind} before byte {}", reader.offset))
                );
            }
        }
    }
    reader.end()?;
    Ok(Index { network, steps })
}

/// Reads a file and hashes what it reads.
struct Checked<'a, R> {
    name: &'a str,
    file: R,
    hasher: Sha256,
    offset: u64,
}

impl<R: Read> Checked<'_, R> {
    fn bytes(&mut self, count: usize) -> Result<Vec<u8>, SourceError> {
        let mut bytes = vec![];
        (&mut self.file)
            .take(count as u64)
            .read_to_end(&mut bytes)
            .map_err(|error| self.broken(&error.to_string()))?;
        if bytes.len() < count {
            return Err(self
                .broken(&format!("it ends at byte {}: it is truncated", self.offset + bytes.len() as u64)));
        }
        self.hasher.update(&bytes);
        self.offset += count as u64;
        Ok(bytes)
    }

    fn entry(&mut self) -> Result<(u8, Vec<u8>), SourceError> {
        let head = self.bytes(ENTRY_HEAD as usize)?;
        let [kind, length @ ..] = *head.as_array::<5>().ok_or_else(|| self.broken("an entry has no head"))?;
        let length = u32::from_be_bytes(length);
        if length > ENTRY_BYTES_MAX {
            return Err(self.broken(&format!("an entry of {length} bytes before byte {}", self.offset)));
        }
        Ok((kind, self.bytes(length as usize)?))
    }

    fn block(&self, content: &[u8]) -> Result<Entry, SourceError> {
        let id = id(content).ok_or_else(|| self.broken("a block without an id"))?;
        let length = content.len() - ID_BYTES;
        Ok(Entry { id, offset: self.offset - length as u64, length })
    }

    /// A peak must be the last of the blocks before it, which must stand one above the other.
    fn step(&self, content: &[u8], before: Option<&Entry>, open: &[Entry]) -> Result<(), SourceError> {
        let rises = open.windows(2).all(|pair| pair[0].id.height + 1 == pair[1].id.height);
        let begins = open.first().is_some_and(|first| {
            before.map_or(first.id.height == 0, |before| first.id.height <= before.id.height + 1)
        });
        let ends = open.last().map(|last| last.id) == id(content) && content.len() == ID_BYTES;
        if rises && begins && ends { Ok(()) } else { Err(self.broken("a peak without its blocks")) }
    }

    fn end(&mut self) -> Result<(), SourceError> {
        match self.file.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.broken("it goes on behind its end")),
            Err(error) => Err(self.broken(&error.to_string())),
        }
    }

    fn broken(&self, reason: &str) -> SourceError {
        SourceError::Broken(format!("recording {}: {reason}", self.name))
    }
}

fn id(content: &[u8]) -> Option<BlockId> {
    let (height, rest) = content.split_first_chunk::<4>()?;
    let hash = Bytes32::try_from(rest.get(..32)?).ok()?;
    Some(BlockId { height: u32::from_be_bytes(*height), hash })
}
