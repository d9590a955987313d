//! How far every shard is, whichever process fills it: what the store says, which also knows what was heard before a
//! restart.

use crate::store::{AddressStore, AddressView, ViewError};
use futures::future::join_all;
use mojoscan_domain::record::Watermark;
use mojoscan_pipeline::Partition;
use mojoscan_pipeline::runner::{Progress, ProgressMap, State};
use mojoscan_runtime::tasks::Tasks;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;

/// How often the store is asked at least.
const LOOK: Duration = Duration::from_millis(200);
/// How long it is left alone at least.
const REST: Duration = Duration::from_millis(20);

/// How far every shard of a store is. Asks the store at once when this process has moved one on, and again and again.
pub(crate) fn follow<S: AddressStore>(
    store: S,
    shards: u32,
    mut local: watch::Receiver<ProgressMap>,
    tasks: &mut Tasks,
) -> watch::Receiver<ProgressMap> {
    let (sender, everywhere) = watch::channel(ProgressMap::new());
    let stop = tasks.stop();
    let work = async move {
        let mut rests = interval(REST);
        rests.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut answering = true;
        loop {
            rests.tick().await;
            let here = local.borrow_and_update().clone();
            match look(&store, shards, &here).await {
                Ok(found) => {
                    answering = true;
                    sender.send_if_modified(|known| {
                        let news = *known != found;
                        *known = found;
                        news
                    });
                }
                Err(error) => {
                    if answering {
                        warn!(%error, "the store does not say how far its shards are; asking again");
                    }
                    answering = false;
                }
            }
            // once this process reads no more, only time passes
            drop(tokio::time::timeout(LOOK, local.changed()).await);
        }
    };
    tasks.spawn("shards", async move {
        stop.run_until_cancelled_owned(work).await;
        Ok(())
    });
    everywhere
}

/// What the store says; whether a shard has stopped, only the process that fills it knows.
async fn look<S: AddressStore>(store: &S, shards: u32, here: &ProgressMap) -> Result<ProgressMap, ViewError> {
    let looks = (0..shards).map(|shard| async move { Ok((shard, progress(store, shard, here).await?)) });
    join_all(looks).await.into_iter().collect()
}

async fn progress<S: AddressStore>(
    store: &S,
    shard: Partition,
    here: &ProgressMap,
) -> Result<Progress, ViewError> {
    let view = store.view(shard, None).await?;
    let (position, heard) = (view.position(), view.heard());
    let watermark = position.block.map(|block| Watermark {
        block,
        previous: None,
        peak_height: heard.peak_height,
        heard_at_ms: heard.at_ms,
    });
    let state = here.get(&shard).map_or(State::Running, |local| local.state.clone());
    Ok(Progress { position, watermark, state })
}
