//! `replay`: rebuilds the rows of addresses from the log into another keyspace, and compares them with the live ones.

use super::address::{Opened, RowsConfig, open, open_store};
use super::{catch_up, cql_failure};
use crate::process::{Process, ProcessConfig};
use mojoscan_address::store::AddressStore;
use mojoscan_address::store::scylla::{SCHEMA, ScyllaAddressStore};
use mojoscan_address::{AddressOptions, AddressService};
use mojoscan_domain::{BlockId, Digest, Network};
use mojoscan_engines::kafka::{KafkaConfig, Topics};
use mojoscan_engines::scylla::{Copies, Cql, CqlConfig, copies, migrate};
use mojoscan_pipeline::StoreError;
use mojoscan_pipeline::runner::{ProgressMap, RunnerOptions, State};
use mojoscan_runtime::exit::{self, Failure};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::info;

/// How often the two keyspaces are compared.
const LOOK: Duration = Duration::from_millis(100);
/// How often progress is told.
const TELL: u32 = 50;

/// Settings of `replay`. It goes on where an earlier one was cut off, and ends once every shard was found equal at a
/// block; uncompared, once every shard is where the source is. Then `address` can be started on the new keyspace, and the
/// gateway sent there.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReplayConfig {
    /// The network: mainnet, testnet11 or simulator0.
    #[arg(long, env = "MOJOSCAN_NETWORK", default_value = "mainnet", value_name = "NAME")]
    network: Network,

    /// The keyspace to rebuild into. It is made if it is not there. The live one is given by --keyspace.
    #[arg(long, value_name = "NAME")]
    into: String,

    /// Compare with nothing: for live rows that cannot go on, as after a reorg that was too deep for them.
    #[arg(long)]
    uncompared: bool,

    #[command(flatten)]
    rows: RowsConfig,

    #[command(flatten)]
    kafka: KafkaConfig,

    #[command(flatten)]
    cql: CqlConfig,

    #[command(flatten)]
    process: ProcessConfig,
}

pub(crate) async fn run(config: ReplayConfig) -> Result<(), Failure> {
    if config.into == config.cql.keyspace {
        return Err(Failure::new(exit::CONFIG, "--into: the live keyspace cannot be rebuilt into itself"));
    }
    let mut process = Process::start(&config.process, "mojoscan-replay").await?;
    let topics = Topics::new(config.network, &config.kafka);
    let live = open_store(&topics, &config.kafka, &config.cql, &config.rows).await?;
    let mut cql = config.cql.clone();
    cql.keyspace.clone_from(&config.into);
    let kept = Cql::connect(&config.cql).await.map_err(|error| cql_failure(&error))?;
    let kept = copies(&kept).await.map_err(|error| cql_failure(&error))?;
    let made = kept.map_or(Copies::Usual, Copies::Made);
    migrate(&cql, made, &[SCHEMA]).await.map_err(|error| cql_failure(&error))?;
    let Opened { log, store } = open(&topics, &config.kafka, &cql, &config.rows).await?;
    let options = AddressOptions {
        shards: topics.coins_partitions,
        dust_below: config.rows.dust_below,
        lag_max: u32::MAX,
        silence_max: Duration::MAX,
        runner: RunnerOptions::default(),
    };
    let AddressService { progress, .. } =
        mojoscan_address::start(log, store.clone(), options, &mut process.tasks, &process.health);
    let comparison = Comparison {
        live: (!config.uncompared).then_some(live),
        rebuilt: store,
        progress,
        shards: topics.coins_partitions,
    };
    let stop = process.tasks.stop();
    tokio::spawn(stop.clone().run_until_cancelled_owned(catch_up::tell(comparison.progress.clone())));
    process.tasks.spawn("compare", comparison.run(stop));
    process.run(None).await
}

/// Compares two keyspaces, shard by shard, at a block that both are at.
struct Comparison {
    /// Not there if nothing is compared.
    live: Option<ScyllaAddressStore>,
    rebuilt: ScyllaAddressStore,
    progress: watch::Receiver<ProgressMap>,
    shards: u32,
}

impl Comparison {
    async fn run(self, stop: CancellationToken) -> Result<(), Failure> {
        let all = self.compare();
        let Some(equal) = stop.run_until_cancelled(all).await else { return Ok(()) };
        for (shard, (block, digest)) in equal? {
            let (digest, whose) =
                (digest.to_bytes32(), if self.live.is_some() { "in both" } else { "uncompared" });
            exit::print(&format!("shard {shard}: {} {} {digest} {whose}\n", block.height, block.hash))?;
        }
        Ok(())
    }

    /// Gives the block and the digest at which each shard was found equal, or has caught up.
    async fn compare(&self) -> Result<BTreeMap<u32, (BlockId, Digest)>, Failure> {
        let mut equal = BTreeMap::new();
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut looked = 0_u32;
        while equal.len() < self.shards as usize {
            looks.tick().await;
            self.check_running()?;
            for shard in 0..self.shards {
                if !equal.contains_key(&shard)
                    && let Some(found) = self.compare_shard(shard).await?
                {
                    equal.insert(shard, found);
                }
            }
            if looked.is_multiple_of(TELL) {
                info!(equal = equal.len(), shards = self.shards, "rebuilding");
            }
            looked += 1;
        }
        Ok(equal)
    }

    async fn compare_shard(&self, shard: u32) -> Result<Option<(BlockId, Digest)>, Failure> {
        let Some(live) = &self.live else { return self.caught_up(shard).await };
        let (live, rebuilt) = match (live.digest(shard).await, self.rebuilt.digest(shard).await) {
            (Ok(live), Ok(rebuilt)) => (live, rebuilt),
            // it is asked again soon
            (Err(StoreError::Unavailable(_)), _) | (_, Err(StoreError::Unavailable(_))) => return Ok(None),
            (Err(error), _) | (_, Err(error)) => return Err(cql_failure(&error)),
        };
        let (Some(block), true) = (live.0.block, live.0.block == rebuilt.0.block) else { return Ok(None) };
        if live.1 == rebuilt.1 {
            return Ok(Some((block, live.1)));
        }
        let (live, rebuilt) = (live.1.to_bytes32(), rebuilt.1.to_bytes32());
        let message = format!(
            "shard {shard} at block {block}: {live} in the live keyspace, {rebuilt} in the rebuilt one"
        );
        Err(Failure::new(exit::DATA, message))
    }

    /// The rebuilt shard, once it is where the source is.
    async fn caught_up(&self, shard: u32) -> Result<Option<(BlockId, Digest)>, Failure> {
        let progress = self.progress.borrow().get(&shard).cloned();
        let reached = progress.is_some_and(|progress| {
            let height = progress.position.block.map(|block| block.height);
            progress.watermark.is_some_and(|watermark| height >= Some(watermark.peak_height))
        });
        if !reached {
            return Ok(None);
        }
        match self.rebuilt.digest(shard).await {
            Ok((position, digest)) => Ok(position.block.map(|block| (block, digest))),
            Err(StoreError::Unavailable(_)) => Ok(None),
            Err(error) => Err(cql_failure(&error)),
        }
    }

    fn check_running(&self) -> Result<(), Failure> {
        for progress in self.progress.borrow().values() {
            if let State::Stopped(reason) = &progress.state {
                return Err(Failure::failed(reason));
            }
        }
        Ok(())
    }
}
