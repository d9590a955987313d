//! Recordings that are truncated or changed, before they are opened and after.

use super::support::{Built, Outcome, TWICE, chain, ingest, simulated};
use mojoscan_domain::Network;
use mojoscan_ingestor::source::recording::{Recording, RecordingWriter};
use mojoscan_ingestor::source::{self, SourceUrl};
use mojoscan_pipeline::{BlockEvents, SourceError};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Writes entries.
type Write<'a> = dyn Fn(&mut RecordingWriter<Vec<u8>>) + 'a;

/// A file in a folder that goes with it.
struct File {
    path: PathBuf,
    _folder: TempDir,
}

impl File {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { path: folder.path().join("small.recording"), _folder: folder }
    }

    fn refused(&self, bytes: &[u8]) -> String {
        fs::write(&self.path, bytes).unwrap();
        match Recording::open(&self.path) {
            Err(SourceError::Broken(reason)) => reason,
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("a damaged recording was opened"),
        }
    }
}

/// A recording whose first peaks are of one chain and whose last is of another.
fn recording(chain: &[Built], fork: &[Built]) -> Vec<u8> {
    let mut writer = RecordingWriter::new(vec![], Network::Simulator0).unwrap();
    for (built, peak) in chain.iter().zip(0..) {
        writer.block(built.id, &built.bytes).unwrap();
        if peak % 2 == 1 {
            writer.peak(built.id).unwrap();
        }
    }
    for built in fork {
        writer.block(built.id, &built.bytes).unwrap();
    }
    writer.peak(fork.last().unwrap().id).unwrap();
    writer.finish().unwrap()
}

/// A small recording of one chain, and that chain.
fn small() -> (Vec<u8>, Vec<Built>) {
    let chain = simulated();
    let mut writer = RecordingWriter::new(vec![], Network::Simulator0).unwrap();
    for built in &chain {
        writer.block(built.id, &built.bytes).unwrap();
    }
    writer.peak(chain.last().unwrap().id).unwrap();
    (writer.finish().unwrap(), chain)
}

async fn play(path: &Path, chain: &[Built]) -> Outcome {
    let until = chain.last().unwrap().id;
    ingest(Recording::open(path).unwrap(), Network::Simulator0, TWICE, until).await
}

async fn truth(file: &File, bytes: &[u8], chain: &[Built]) -> Vec<BlockEvents> {
    fs::write(&file.path, bytes).unwrap();
    let outcome = play(&file.path, chain).await;
    assert_eq!((outcome.error, outcome.published.len()), (None, chain.len()));
    outcome.published
}

#[test]
fn truncated_at_any_byte_it_is_refused() {
    let (file, (bytes, _)) = (File::new(), small());
    for length in 0..bytes.len() {
        let reason = file.refused(&bytes[..length]);
        assert!(reason.contains("small.recording") && reason.contains("truncated"), "{length}: {reason}");
    }
}

#[test]
fn with_any_byte_changed_it_is_refused() {
    let (file, (bytes, _)) = (File::new(), small());
    for at in 0..bytes.len() {
        for flip in [0x01, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            let reason = file.refused(&damaged);
            assert!(reason.contains("small.recording: "), "{at}: {reason}");
        }
    }
}

#[test]
fn with_bytes_added_or_left_out_it_is_refused() {
    let (file, (bytes, _)) = (File::new(), small());
    for at in (0..=bytes.len()).step_by(7) {
        let mut longer = bytes.clone();
        longer.insert(at, b'B');
        file.refused(&longer);
    }
    let twice = [&bytes[..], &bytes[..]].concat();
    assert!(file.refused(&twice).contains("goes on behind its end"));
    assert!(file.refused(b"").contains("truncated"));
    assert!(file.refused(&[b'x'; 400]).contains("does not begin as a recording does"));
}

#[test]
fn entries_that_make_no_chain_are_refused() {
    let (chain, file) = (simulated(), File::new());
    let with = |write: &Write<'_>| {
        let mut writer = RecordingWriter::new(vec![], Network::Simulator0).unwrap();
        write(&mut writer);
        file.refused(&writer.finish().unwrap())
    };
    let add = |writer: &mut RecordingWriter<Vec<u8>>, height: usize| {
        writer.block(chain[height].id, &chain[height].bytes).unwrap();
    };
    let cases: [(&str, &Write<'_>); 6] = [
        ("checksum", &|_| {}),
        ("checksum", &|writer| add(writer, 0)),
        ("peak", &|writer| writer.peak(chain[0].id).unwrap()),
        ("peak", &|writer| {
            add(writer, 1);
            writer.peak(chain[1].id).unwrap();
        }),
        ("peak", &|writer| {
            add(writer, 0);
            add(writer, 2);
            writer.peak(chain[2].id).unwrap();
        }),
        ("peak", &|writer| {
            add(writer, 0);
            writer.peak(chain[1].id).unwrap();
        }),
    ];
    for (expected, write) in cases {
        let reason = with(write);
        assert!(reason.contains(expected), "{reason}");
    }
    let missing = Recording::open(&file.path.with_extension("gone")).err();
    assert!(matches!(missing, Some(SourceError::Broken(reason)) if reason.contains("small.gone")));
}

/// The file was checked and is then changed: what is read from it later is checked again.
#[tokio::test]
async fn changed_after_it_was_opened_nothing_of_it_is_published() {
    let (file, (bytes, chain)) = (File::new(), small());
    let truth = truth(&file, &bytes, &chain).await;
    let until = chain.last().unwrap().id;
    for at in (0..bytes.len()).step_by(3) {
        fs::write(&file.path, &bytes).unwrap();
        let source = Recording::open(&file.path).unwrap();
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x11;
        fs::write(&file.path, &damaged).unwrap();
        let outcome = ingest(source, Network::Simulator0, Duration::ZERO, until).await;
        outcome.is_part_of(&truth);
        if outcome.error.is_none() {
            assert_eq!(outcome.published.len(), truth.len());
        }
    }
    for length in [0, bytes.len() / 2] {
        fs::write(&file.path, &bytes).unwrap();
        let source = Recording::open(&file.path).unwrap();
        fs::write(&file.path, &bytes[..length]).unwrap();
        let outcome = ingest(source, Network::Simulator0, TWICE, until).await;
        assert!(outcome.said().contains("small.recording"), "{}", outcome.said());
        outcome.is_part_of(&truth);
    }
}

/// A block that stands where another should, in a file whose checksum is right.
#[tokio::test]
async fn blocks_that_do_not_fit_are_not_published() {
    let (chain, other, file) = (simulated(), chain(Network::Simulator0, 6, 9), File::new());
    let truth = truth(&file, &small().0, &chain).await;
    let cases: [(&str, usize, &[u8]); 5] = [
        // another fork's block, another height's block, no block, no block at all, and the tip of another fork
        ("does not stand on the one before", 3, &other[3].bytes),
        ("as that of height 3", 3, &chain[4].bytes),
        ("not a FullBlock", 3, b"garbage"),
        ("not a FullBlock", 0, b""),
        ("does not stand on the one before", 5, &other[5].bytes),
    ];
    for (expected, height, bytes) in cases {
        let mut writer = RecordingWriter::new(vec![], Network::Simulator0).unwrap();
        for (at, built) in chain.iter().enumerate() {
            let bytes = if at == height { bytes } else { &built.bytes };
            writer.block(built.id, bytes).unwrap();
        }
        writer.peak(chain[5].id).unwrap();
        fs::write(&file.path, writer.finish().unwrap()).unwrap();
        let outcome = play(&file.path, &chain).await;
        assert!(outcome.said().contains(expected), "{}", outcome.said());
        outcome.is_part_of(&truth);
        assert!(outcome.published.len() <= height);
    }
}

/// A few bytes that unpack to more than a block can have.
#[tokio::test]
async fn a_block_that_unpacks_to_too_much_is_refused() {
    let (chain, file) = (simulated(), File::new());
    let mut writer = RecordingWriter::new(vec![], Network::Simulator0).unwrap();
    writer.block(chain[0].id, &vec![0; (64 << 20) + 1]).unwrap();
    writer.peak(chain[0].id).unwrap();
    fs::write(&file.path, writer.finish().unwrap()).unwrap();
    let outcome = play(&file.path, &chain).await;
    assert!(outcome.said().contains("larger than a block can be"), "{}", outcome.said());
    assert_eq!(outcome.ever, []);
}

#[tokio::test]
async fn a_reorg_is_played_and_another_network_is_refused() {
    let (chain, file) = (simulated(), File::new());
    // forks leave the chain at its first block: they have no common one
    let fork = super::support::chain(Network::Simulator0, 7, 3);
    fs::write(&file.path, recording(&chain, &fork)).unwrap();
    let outcome = play(&file.path, &fork).await;
    assert_eq!((outcome.error, outcome.published.len()), (None, 7));
    let url = SourceUrl::Recording(file.path.clone());
    let refused = source::open(&url, Some(Network::Mainnet), b"").await.err();
    assert!(matches!(refused, Some(SourceError::Broken(reason)) if reason.contains("carries simulator0")));
}
