//! Balances, histories, coins and owned NFTs of each address.
//!
//! What flows in: the coins topic, whose events are keyed by owner. What flows out: gRPC answers, each true at one
//! block. [`projection`] is the pure heart, [`store`] where its rows are kept; [`start`] puts them to work.

pub mod projection;
pub mod rpc;
mod shards;
pub mod store;

use mojoscan_domain::record::CoinEvent;
use mojoscan_pipeline::RecordLog;
use mojoscan_pipeline::runner::{ProgressMap, Runner, RunnerOptions, State};
use mojoscan_proto::address::v1::address_service_server::AddressServiceServer;
use mojoscan_runtime::exit::Failure;
use mojoscan_runtime::health::{Condition, Health};
use mojoscan_runtime::tasks::Tasks;
use projection::AddressProjection;
use rpc::AddressRpc;
use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::AddressStore;
use tokio::sync::watch;

/// How an address service works.
#[derive(Debug, Clone, Copy)]
pub struct AddressOptions {
    /// Shards of the store. Those that another process fills are looked up there.
    pub shards: u32,
    /// XCH coins below this many mojos are dust.
    pub dust_below: u64,
    /// Blocks behind the peak from which on the service is not ready.
    pub lag_max: u32,
    /// Time since the last watermark from which on the service is not ready.
    pub silence_max: Duration,
    /// How records are carried into the store.
    pub runner: RunnerOptions,
}

/// A running address service.
pub struct AddressService<S> {
    /// The gRPC service, to be mounted on a server.
    pub rpc: AddressServiceServer<AddressRpc<S>>,
    /// How far each shard is that this process fills.
    pub progress: watch::Receiver<ProgressMap>,
}

/// Starts to carry records into a store, and to answer from it.
pub fn start<L, S>(
    log: L,
    store: S,
    options: AddressOptions,
    tasks: &mut Tasks,
    health: &Health,
) -> AddressService<S>
where
    L: RecordLog<Event = CoinEvent>,
    S: AddressStore,
{
    let projection = AddressProjection { dust_below: options.dust_below };
    let runner = Runner::new(log, projection, store.clone(), options.runner);
    let progress = runner.progress();
    let stop = tasks.stop();
    tasks.spawn("address", async move { runner.run(stop).await.map_err(Failure::failed) });
    let everywhere = shards::follow(store.clone(), options.shards, progress.clone(), tasks);
    let watched = everywhere.clone();
    health.add("address", move || condition(&watched.borrow(), &options));
    let rpc = AddressServiceServer::new(AddressRpc::new(store, everywhere));
    AddressService { rpc, progress }
}

/// Ready once every shard is near the peak, was heard from lately, and has not stopped.
fn condition(progress: &ProgressMap, options: &AddressOptions) -> Condition {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let mut ready = !progress.is_empty();
    let mut shards = vec![];
    for (shard, progress) in progress {
        let height = progress.position.block.map(|block| block.height);
        let lag = progress.watermark.map(|watermark| {
            let behind = watermark.peak_height.saturating_sub(height.unwrap_or(0));
            let silence_ms = watermark.heard_at_ms.map_or(0, |at| now_ms.saturating_sub(at));
            (behind, Duration::from_millis(silence_ms))
        });
        let running = progress.state == State::Running;
        ready &= running
            && lag
                .is_some_and(|(behind, silence)| behind <= options.lag_max && silence <= options.silence_max);
        let stopped = match &progress.state {
            State::Running => None,
            State::Stopped(reason) => Some(reason),
        };
        shards.push(json!({
            "shard": shard,
            "height": height,
            "lag_blocks": lag.map(|(behind, _)| behind),
            "silence_seconds": lag.map(|(_, silence)| silence.as_secs()),
            "stopped": stopped,
        }));
    }
    Condition { ready, details: json!({ "shards": shards }) }
}
