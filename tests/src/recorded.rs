//! Recordings: the bundled one, and those of chains that were built, with reorgs.

use crate::branch::Branch;
use crate::chain::Blocks;
use fastrand::Rng;
use mojoscan::demo;
use mojoscan_domain::{BlockId, Network};
use mojoscan_ingestor::source::recording::RecordingWriter;
use std::fs::File;
use std::path::Path;

/// Blocks between two peaks, at most.
const STEP_MAX: usize = 12;

/// The last block of the bundled recording: its last peak, before the end and the checksum.
pub fn demo_tip() -> BlockId {
    let (rest, _) = demo::RECORDING.split_at(demo::RECORDING.len() - (1 + 4 + 32));
    let (height, hash) = rest[rest.len() - 36..].split_at(4);
    BlockId { height: u32::from_be_bytes(height.try_into().unwrap()), hash: hash.try_into().unwrap() }
}

/// Writes a recording that begins with a chain of `length` blocks and changes to another one `reorgs` times. Gives the
/// final chain.
pub fn record(file: &Path, length: usize, reorgs: usize, rng: &mut Rng) -> Blocks {
    let mut writer = RecordingWriter::new(File::create(file).unwrap(), Network::Simulator0).unwrap();
    let mut branch = Branch::of(length, rng);
    let mut kept = 0;
    for left in (0..=reorgs).rev() {
        let blocks = branch.blocks();
        for run in blocks[kept..].chunks(STEP_MAX) {
            for block in run {
                writer.block(block.id, &block.bytes).unwrap();
            }
            writer.peak(run[run.len() - 1].id).unwrap();
        }
        if left > 0 {
            let depth = rng.usize(1..branch.length().min(40));
            kept = branch.length() - depth;
            let grown = depth + rng.usize(1..30);
            branch = branch.fork(depth, grown, rng);
        }
    }
    writer.finish().unwrap();
    branch.blocks()
}
