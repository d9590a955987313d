//! Fetches and decodes runs of blocks, with the older generators they refer to.

use crate::ingestor::IngestError;
use mojoscan_chia::{Block, Limits};
use mojoscan_domain::{BlockId, Bytes32, Network};
use mojoscan_pipeline::{BlockEvents, BlockSource};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Older generators kept at hand.
const REFERENCES_MAX: usize = 64;

/// Fetches and decodes blocks of one chain.
pub(crate) struct Decoder {
    source: Arc<dyn BlockSource>,
    network: Network,
    limits: Limits,
    references: Mutex<HashMap<u32, Vec<u8>>>,
}

impl Decoder {
    pub(crate) fn new(source: Arc<dyn BlockSource>, network: Network, limits: Limits) -> Self {
        Self { source, network, limits, references: Mutex::default() }
    }

    /// Fetches a run of blocks, decodes them on another thread, and checks that they link.
    pub(crate) async fn run(self: Arc<Self>, first: u32, last: u32) -> Result<Vec<BlockEvents>, IngestError> {
        let blocks = parse(first, &self.source.blocks(first, last).await?)?;
        let mut references = Vec::with_capacity(blocks.len());
        for block in &blocks {
            references.push(self.references(block).await?);
        }
        let work = move || {
            let decoded: Result<Vec<BlockEvents>, IngestError> = blocks
                .iter()
                .zip(&references)
                .map(|(block, references)| self.decode(block, references))
                .collect();
            decoded
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(decoded) => decoded,
            Err(error) => Err(IngestError::Panicked(error.to_string())),
        }
    }

    fn decode(&self, block: &Block, references: &[Vec<u8>]) -> Result<BlockEvents, IngestError> {
        let id = block.id();
        let invalid = |error| IngestError::Invalid { block: id, error: Box::new(error) };
        self.check_network(block)?;
        let decoded = mojoscan_chia::decode(block, references, self.limits).map_err(invalid)?;
        Ok(BlockEvents { header: decoded.header, coins: decoded.events.into_coin_events() })
    }

    /// A block shows its network where it begins the chain, and wherever it pays rewards.
    fn check_network(&self, block: &Block) -> Result<(), IngestError> {
        let challenge = self.network.genesis_challenge();
        let genesis = block.id().height > 0 || block.previous_hash() == challenge;
        let halves = challenge.to_bytes();
        let ours = |parent: Bytes32| {
            let half = &parent.to_bytes()[..16];
            half == &halves[..16] || half == &halves[16..]
        };
        if genesis && block.rewards().iter().all(|reward| ours(reward.parent)) {
            return Ok(());
        }
        Err(IngestError::OtherNetwork { block: block.id(), network: self.network })
    }

    async fn references(&self, block: &Block) -> Result<Vec<Vec<u8>>, IngestError> {
        let mut generators = vec![];
        for height in block.references() {
            generators.push(self.generator(*height).await?);
        }
        Ok(generators)
    }

    async fn generator(&self, height: u32) -> Result<Vec<u8>, IngestError> {
        if let Some(known) = self.known().get(&height) {
            return Ok(known.clone());
        }
        let blocks = parse(height, &self.source.blocks(height, height).await?)?;
        let generator = blocks.first().and_then(Block::generator).unwrap_or_default().to_vec();
        let mut known = self.known();
        if known.len() >= REFERENCES_MAX {
            known.clear();
        }
        known.insert(height, generator.clone());
        Ok(generator)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<u32, Vec<u8>>> {
        // the map is never left half-changed
        self.references.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a run of blocks, which must stand at the heights asked for, each on the one before.
fn parse(first: u32, blocks: &[Vec<u8>]) -> Result<Vec<Block>, IngestError> {
    let mut parsed: Vec<Block> = Vec::with_capacity(blocks.len());
    for (height, bytes) in (first..).zip(blocks) {
        let block = Block::from_bytes(bytes)
            .map_err(|error| IngestError::Unreadable { height, error: Box::new(error) })?;
        let id: BlockId = block.id();
        if id.height != height {
            return Err(IngestError::Misplaced { height, block: id });
        }
        if parsed.last().is_some_and(|before| before.id().hash != block.previous_hash()) {
            return Err(IngestError::Unlinked(id));
        }
        parsed.push(block);
    }
    Ok(parsed)
}
