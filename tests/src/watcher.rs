//! Somebody who reads all the time: every answer must be what a rebuild of the chain that it names has.

use crate::rebuild::{Rebuilt, tell};
use fastrand::Rng;
use mojoscan_address::store::{AddressStore, AddressView, ViewError};
use mojoscan_domain::{BlockId, PuzzleHash};
use mojoscan_pipeline::StoreError;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::JoinHandle;

/// What was told, of whom, and at which block that is true.
type Told = (BlockId, PuzzleHash, String);

/// Reads all the time, and remembers what it was told.
pub struct Watcher {
    stop: Arc<AtomicBool>,
    told: JoinHandle<Vec<Told>>,
}

impl Watcher {
    /// Begins to read about these owners, one after the other at random.
    pub fn start<S: AddressStore>(store: S, owners: &BTreeSet<PuzzleHash>, mut rng: Rng) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (ended, owners) = (Arc::clone(&stop), owners.iter().copied().collect::<Vec<_>>());
        let told = tokio::spawn(async move {
            let mut told = vec![];
            while !ended.load(Ordering::Relaxed) {
                let owner = owners[rng.usize(..owners.len())];
                match read(&store, owner).await {
                    Ok(one) => told.extend(one),
                    // no answer is no wrong answer
                    Err(ViewError::Moved | ViewError::Store(StoreError::Unavailable(_))) => {}
                    Err(error) => panic!("{error}"),
                }
                tokio::task::yield_now().await;
            }
            told
        });
        Self { stop, told }
    }

    /// Ends reading, and compares what was told with all the chains that there were. Gives how much it was.
    pub async fn judge(self, chains: &[&Rebuilt]) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        let all = self.told.await.unwrap();
        for (block, owner, story) in &all {
            let chain = chains.iter().find(|chain| chain.has(*block));
            let chain = chain.unwrap_or_else(|| panic!("block {block} was never on the chain"));
            let view = chain.store.view(0, Some(block.height)).await.unwrap();
            assert_eq!(
                *story,
                tell(&view, *owner).await.unwrap(),
                "{owner} at block {block}, as told meanwhile"
            );
        }
        all.len()
    }
}

async fn read<S: AddressStore>(store: &S, owner: PuzzleHash) -> Result<Option<Told>, ViewError> {
    let view = store.view(store.partition_of(owner), None).await?;
    let (position, story) = (view.position(), tell(&view, owner).await?);
    view.finish().await?;
    Ok(position.block.map(|block| (block, owner, story)))
}
