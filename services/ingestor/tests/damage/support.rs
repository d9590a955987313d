//! A small chain, and an ingestor whose publisher keeps what comes.

use mojoscan_chia::builder::{CoinSpend, Draft, Generator, Tip};
use mojoscan_domain::{BlockId, Bytes32, Header, Network};
use mojoscan_ingestor::{IngestError, Ingestor, IngestorOptions};
use mojoscan_pipeline::{
    BlockEvents, BlockSource, History, MemoryHistory, PublishBatch, PublishError, Publisher,
};
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Longest time for a chain of a few blocks.
const LIMIT: Duration = Duration::from_secs(120);
/// Patience with which a source is asked at least twice, and not much more often: after the first failure there is a
/// pause of at least 250 ms.
pub(crate) const TWICE: Duration = Duration::from_millis(100);

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Built {
    pub(crate) id: BlockId,
    pub(crate) previous: Bytes32,
    pub(crate) bytes: Vec<u8>,
}

/// The puzzle `1`, which returns its solution: anyone can spend it, to anything.
fn anyone() -> Bytes32 {
    Bytes32::new(Sha256::digest([1, 1]).into())
}

/// A chain of blocks, two of them with a spend. Another salt makes other blocks.
pub(crate) fn chain(network: Network, blocks: u32, salt: u64) -> Vec<Built> {
    let mut tip = Tip::genesis(network);
    let mut coins = vec![];
    (0..blocks)
        .map(|height| {
            let generator = match coins.pop() {
                Some(coin) if height == 2 || height == 4 => {
                    // (((51 anyone 1000 ("hi"))))
                    let mut solution = vec![0xff, 0xff, 0x33, 0xff, 0xa0];
                    solution.extend_from_slice(anyone().as_slice());
                    solution.extend_from_slice(b"\xff\x82\x03\xe8\xff\xff\x82hi\x80\x80\x80");
                    Generator::Compressed(vec![CoinSpend { coin, puzzle: vec![1], solution }])
                }
                _ => Generator::None,
            };
            let (farmer, pool) = (anyone(), anyone());
            let draft = Draft { generator, farmer, pool, salt, ..Draft::default() };
            let (block, next) = tip.extend(&draft).unwrap();
            tip = next;
            coins.extend(block.rewards());
            Built { id: block.id(), previous: block.previous_hash(), bytes: block.to_bytes().unwrap() }
        })
        .collect()
}

/// The chain of the simulator that most tests use.
pub(crate) fn simulated() -> Vec<Built> {
    chain(Network::Simulator0, 6, 0)
}

/// A publisher that keeps what comes, and shows what is left after rewinds.
struct Keeper {
    history: MemoryHistory,
    kept: watch::Sender<Vec<BlockEvents>>,
}

impl Publisher for Keeper {
    async fn resume(&mut self) -> Result<Option<BlockId>, PublishError> {
        Ok(self.kept.borrow().last().map(|block| block.header.id))
    }

    async fn find_previous(&mut self, block: BlockId) -> Result<Option<BlockId>, PublishError> {
        self.history.find_previous(block).map_err(|error| PublishError::Broken(error.to_string()))
    }

    async fn publish(&mut self, batch: PublishBatch) -> Result<(), PublishError> {
        let headers: Vec<&Header> = batch.blocks.iter().map(|block| &block.header).collect();
        self.history.remember(&headers).map_err(|error| PublishError::Broken(error.to_string()))?;
        self.kept.send_modify(|kept| {
            if let Some(rewind) = batch.rewind {
                kept.retain(|block| Some(block.header.id.height) <= rewind.0.map(|to| to.height));
            }
            kept.extend(batch.blocks);
        });
        Ok(())
    }
}

/// What came of a source.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Why the ingestor ended; none if it went on.
    pub(crate) error: Option<IngestError>,
    /// What is published.
    pub(crate) published: Vec<BlockEvents>,
    /// Everything that was ever published.
    pub(crate) ever: Vec<BlockEvents>,
}

impl Outcome {
    /// The error, as an operator reads it.
    pub(crate) fn said(&self) -> String {
        self.error.as_ref().unwrap_or_else(|| panic!("no error, but {:?}", ids(&self.published))).to_string()
    }

    /// Nothing was published but what the true chain has, from its beginning.
    pub(crate) fn is_part_of(&self, truth: &[BlockEvents]) {
        assert_eq!(self.published, truth[..self.published.len()]);
        assert!(self.ever.iter().all(|block| truth.contains(block)), "{:?}", ids(&self.ever));
    }
}

fn ids(blocks: &[BlockEvents]) -> Vec<BlockId> {
    blocks.iter().map(|block| block.header.id).collect()
}

/// Follows a source until it fails for longer than the patience, or a block is published.
pub(crate) async fn ingest(
    source: impl BlockSource,
    network: Network,
    patience: Duration,
    until: BlockId,
) -> Outcome {
    let kept = watch::Sender::new(vec![]);
    let ever = Arc::new(Mutex::new(vec![]));
    let mut watched = kept.subscribe();
    let publisher = Keeper { history: MemoryHistory::default(), kept };
    let options = IngestorOptions {
        parallel: 2,
        batch_blocks: 2,
        heartbeat: Duration::from_millis(100),
        source_patience: Some(patience),
        ..IngestorOptions::default()
    };
    let stop = CancellationToken::new();
    let ingestor = Ingestor::new(Arc::new(source), publisher, network, options).run(stop.clone());
    let all = Arc::clone(&ever);
    let reached = async {
        loop {
            let kept: Vec<BlockEvents> = watched.borrow_and_update().clone();
            let there = kept.last().is_some_and(|block| block.header.id == until);
            all.lock().unwrap().extend(kept);
            if there {
                return;
            }
            // the sender lives as long as the ingestor, which ends first
            if watched.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    let work = async {
        tokio::select! {
            biased;
            () = reached => None,
            ended = ingestor => ended.err(),
        }
    };
    let error = tokio::time::timeout(LIMIT, work).await;
    let error = error.unwrap_or_else(|_| panic!("the ingestor neither ends nor arrives"));
    let published = watched.borrow().clone();
    let mut ever = std::mem::take(&mut *ever.lock().unwrap());
    ever.extend_from_slice(&published);
    Outcome { error, published, ever }
}
