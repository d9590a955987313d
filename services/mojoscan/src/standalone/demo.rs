//! The demo: a recording of a real chain, and what to ask about it.

use mojoscan_pipeline::runner::ProgressMap;
use std::net::SocketAddr;
use tokio::sync::watch;

/// A recording of a node's simulator that was driven through every kind of coin its wallet makes.
pub const RECORDING: &[u8] = include_bytes!("../../demo/simulator0.recording");
/// Requests worth trying, one path a line.
const TRY: &str = include_str!("../../demo/try.txt");

/// Prints requests to try, once the recording was played to its end.
pub(super) fn announce(listen: SocketAddr, mut progress: watch::Receiver<ProgressMap>) {
    tokio::spawn(async move {
        let played = |progress: &ProgressMap| {
            !progress.is_empty()
                && progress
                    .values()
                    .all(|shard| shard.watermark.is_some_and(|mark| mark.heard_at_ms.is_none()))
        };
        if progress.wait_for(played).await.is_ok() {
            println!("\nThe demo chain is played. Try:\n");
            for path in TRY.lines() {
                println!("  curl 'http://{listen}{path}'");
            }
            println!("  open http://{listen}/docs\n");
        }
    });
}
