//! Writes recordings.

use super::format::{BLOCK, END, MAGIC, NETWORK, PEAK};
use mojoscan_domain::{BlockId, Network};
use sha2::{Digest as _, Sha256};
use std::io::{self, Write};

/// How hard blocks are compressed: recordings are written once and read often.
const LEVEL: i32 = 19;

/// Writes a recording, entry by entry. Without [`RecordingWriter::finish`] it is not one.
pub struct RecordingWriter<W> {
    file: W,
    hasher: Sha256,
}

impl<W: Write> RecordingWriter<W> {
    /// Begins a recording.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(file: W, network: Network) -> io::Result<Self> {
        let mut writer = Self { file, hasher: Sha256::new() };
        writer.bytes(MAGIC)?;
        writer.entry(NETWORK, network.name().as_bytes())?;
        Ok(writer)
    }

    /// Adds a block.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn block(&mut self, id: BlockId, block: &[u8]) -> io::Result<()> {
        let mut content = head(id);
        content.extend(zstd::bulk::compress(block, LEVEL)?);
        self.entry(BLOCK, &content)
    }

    /// Says that the last block added is the peak.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn peak(&mut self, id: BlockId) -> io::Result<()> {
        self.entry(PEAK, &head(id))
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        let hash = self.hasher.clone().finalize();
        self.entry(END, &hash)?;
        self.file.flush()?;
        Ok(self.file)
    }

    fn entry(&mut self, kind: u8, content: &[u8]) -> io::Result<()> {
        let length = u32::try_from(content.len()).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "a block is too large for a recording")
        })?;
        self.bytes(&[kind])?;
        self.bytes(&length.to_be_bytes())?;
        self.bytes(content)
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.file.write_all(bytes)
    }
}

fn head(id: BlockId) -> Vec<u8> {
    let mut head = id.height.to_be_bytes().to_vec();
    head.extend_from_slice(id.hash.as_slice());
    head
}
