//! Waiting for a state.

use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// Longest wait.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often the state is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Looks again and again until there is something, which it gives; fails the test if that takes too long.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "waited {PATIENCE:?} for {what}");
    }
}
