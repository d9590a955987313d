//! Tells how far the shards are that a process fills, while they catch up.

use mojoscan_pipeline::runner::ProgressMap;
use mojoscan_runtime::progress::CatchUp;
use tokio::sync::watch;

/// Tells how far the shard is that is furthest behind, until nothing moves any more.
pub(super) async fn tell(mut progress: watch::Receiver<ProgressMap>) {
    let mut catching_up: Option<CatchUp> = None;
    while progress.changed().await.is_ok() {
        let Some((next, peak)) = furthest_behind(&progress.borrow_and_update()) else { continue };
        catching_up = match catching_up {
            None => CatchUp::begin(next, peak),
            Some(all) if next > peak => {
                all.end();
                None
            }
            Some(mut all) => {
                all.reached(next.saturating_sub(1), peak);
                Some(all)
            }
        };
    }
}

/// The height that the furthest shard behind needs next, and that of the chain's peak.
fn furthest_behind(progress: &ProgressMap) -> Option<(u32, u32)> {
    let next = progress.values().map(|shard| shard.position.block.map_or(0, |block| block.height + 1));
    let peaks = progress.values().filter_map(|shard| Some(shard.watermark?.peak_height));
    Some((next.min()?, peaks.max()?))
}
