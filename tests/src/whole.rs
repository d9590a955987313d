//! The whole service in this process, on a chain that the test moves.

use crate::chain::Chain;
use crate::rebuild::DUST_BELOW;
use crate::wait;
use mojoscan::{Standalone, StandaloneConfig};
use mojoscan_address::store::embedded::EmbeddedAddressStore;
use mojoscan_domain::{BlockId, Network};
use mojoscan_runtime::Registry;
use mojoscan_runtime::exit::Failure;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Longest time to reach a block.
const PATIENCE: Duration = Duration::from_secs(120);

/// The whole service in this process, on a chain that the test moves.
pub struct Whole {
    /// Where it answers.
    pub url: String,
    /// The rows of addresses.
    pub addresses: EmbeddedAddressStore,
    progress: tokio::sync::watch::Receiver<mojoscan_pipeline::runner::ProgressMap>,
    stop: Box<dyn FnOnce() + Send>,
    running: JoinHandle<Result<(), Failure>>,
}

impl Whole {
    /// Starts it.
    pub async fn start(chain: &Chain, data: &Path) -> Self {
        let (data, dust) = (data.to_str().unwrap(), DUST_BELOW.to_string());
        let config = StandaloneConfig::parse(&[
            "--listen=127.0.0.1:0",
            "--admin=127.0.0.1:0",
            "--data",
            data,
            "--dust-below",
            &dust,
        ])
        .unwrap();
        // what an earlier service of this process had open may take a moment to close
        let standalone = wait::until("the data folder", async || {
            let source = Arc::new(chain.clone());
            let started = Standalone::start_on(source, Network::Simulator0, &config, Registry::new()).await;
            match started {
                Err(failure) if failure.to_string().contains("another process") => None,
                started => Some(started.unwrap()),
            }
        })
        .await;
        let stop = standalone.stop();
        Self {
            url: format!("http://{}", standalone.listen),
            addresses: standalone.addresses.clone(),
            progress: standalone.progress.clone(),
            stop: Box::new(move || stop.cancel()),
            running: tokio::spawn(standalone.run()),
        }
    }

    /// Waits until it has applied everything up to this block.
    pub async fn reach(&self, block: BlockId) {
        let mut progress = self.progress.clone();
        let reached =
            progress.wait_for(|all| all.get(&0).is_some_and(|one| one.position.block == Some(block)));
        match tokio::time::timeout(PATIENCE, reached).await {
            Ok(reached) => drop(reached.unwrap()),
            Err(_) => panic!("waited {PATIENCE:?} for block {block}"),
        }
    }

    /// Stops it, as an operator does.
    pub async fn stop(self) {
        (self.stop)();
        self.running.await.unwrap().unwrap();
    }
}
