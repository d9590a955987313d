//! Says how far catching up is: a bar on a terminal, a line now and then in a log.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tracing::info;

/// Catching up is worth mentioning from this many blocks on.
const WORTH_BLOCKS: u32 = 100;
/// Time between lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Progress of one catching-up.
pub struct CatchUp {
    first: u32,
    last: u32,
    started: Instant,
    line_at: Instant,
    bar: Option<ProgressBar>,
}

impl CatchUp {
    /// Begins at the first height to come; none if there is too little to speak of.
    pub fn begin(first: u32, last: u32) -> Option<Self> {
        if last.checked_sub(first)? < WORTH_BLOCKS {
            return None;
        }
        info!(from = first, to = last, "catching up");
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(
                "{bar:40} block {pos} of {len} ({percent} %), {per_sec}, {eta} left",
            );
            let bar = ProgressBar::new(u64::from(last)).with_position(u64::from(first));
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.reset_eta();
            bar
        });
        let now = Instant::now();
        Some(Self { first, last, started: now, line_at: now, bar })
    }

    /// Everything up to this height is done, of as much as there is by now.
    pub fn reached(&mut self, height: u32, last: u32) {
        self.last = last;
        if let Some(bar) = &self.bar {
            bar.set_length(u64::from(last));
            bar.set_position(u64::from(height));
        } else if self.line_at.elapsed() >= LINE_EVERY {
            self.line_at = Instant::now();
            // a reorg may have led back behind the beginning
            let done = height.saturating_sub(self.first) + 1;
            let rate = f64::from(done) / self.started.elapsed().as_secs_f64();
            let left_seconds = f64::from(self.last.saturating_sub(height)) / rate;
            let percent = f64::from(height) * 100.0 / f64::from(self.last);
            info!(
                height,
                of = self.last,
                percent = format!("{percent:.1}"),
                blocks_per_second = format!("{rate:.0}"),
                seconds_left = format!("{left_seconds:.0}"),
                "catching up"
            );
        }
    }

    /// It is caught up.
    pub fn end(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let blocks = self.last.saturating_sub(self.first) + 1;
        info!(height = self.last, blocks, seconds = self.started.elapsed().as_secs(), "caught up");
    }
}
