//! A chain in memory that can be swapped for another at any moment, as a source of blocks.

use crate::world::Built;
use async_trait::async_trait;
use mojoscan_domain::{BlockId, Network};
use mojoscan_pipeline::{BlockSource, Peak, SourceError};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// Blocks of a chain, from block 0 on.
pub type Blocks = Arc<[Built]>;

/// A chain that a test moves on, and back.
#[derive(Clone)]
pub struct Chain {
    blocks: watch::Sender<Blocks>,
    /// Another chain, and how many more requests for blocks are answered from the present one.
    next: Arc<Mutex<Option<(usize, Blocks)>>>,
}

impl Chain {
    /// A chain that ends in the last of these blocks.
    pub fn new(blocks: Blocks) -> Self {
        Self { blocks: watch::Sender::new(blocks), next: Arc::default() }
    }

    /// Swaps the chain for another.
    pub fn set(&self, blocks: Blocks) {
        self.blocks.send_replace(blocks);
    }

    /// Swaps the chain for another after some more requests for blocks: in the middle of a back-fill.
    pub fn set_after(&self, requests: usize, blocks: Blocks) {
        *self.next.lock().unwrap() = Some((requests, blocks));
    }

    /// Swaps the chain now, if it should be swapped later and has not been.
    pub fn settle(&self) {
        let next = self.next.lock().unwrap().take();
        if let Some((_, blocks)) = next {
            self.set(blocks);
        }
    }

    /// Waits until the chain ends in this block.
    pub async fn ends_in(&self, tip: BlockId) {
        let mut watched = self.blocks.subscribe();
        watched.wait_for(|blocks| peak(blocks).block == tip).await.unwrap();
    }

    fn counted(&self) {
        let mut next = self.next.lock().unwrap();
        match next.take() {
            Some((0, blocks)) => self.set(blocks),
            Some((more, blocks)) => *next = Some((more - 1, blocks)),
            None => {}
        }
    }
}

fn peak(blocks: &Blocks) -> Peak {
    Peak::now(blocks.last().unwrap().id)
}

#[async_trait]
impl BlockSource for Chain {
    fn describe(&self) -> String {
        "chain in memory".to_owned()
    }

    fn network(&self) -> Option<Network> {
        Some(Network::Simulator0)
    }

    async fn peak(&self) -> Result<Peak, SourceError> {
        Ok(peak(&self.blocks.borrow()))
    }

    async fn changed_peak(&self, known: BlockId, patience: Duration) -> Result<Peak, SourceError> {
        let mut watched = self.blocks.subscribe();
        drop(tokio::time::timeout(patience, watched.wait_for(|blocks| peak(blocks).block != known)).await);
        self.peak().await
    }

    async fn blocks(&self, first: u32, last: u32) -> Result<Vec<Vec<u8>>, SourceError> {
        self.counted();
        let blocks = self.blocks.borrow().clone();
        let run = blocks.get(first as usize..=last as usize).ok_or(SourceError::Missing { first, last })?;
        Ok(run.iter().map(|block| block.bytes.clone()).collect())
    }

    async fn find_id(&self, height: u32) -> Result<Option<BlockId>, SourceError> {
        Ok(self.blocks.borrow().get(height as usize).map(|block| block.id))
    }
}
