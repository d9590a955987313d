//! The loop: where is the log, where is the source, what is missing, publish it, wait.

use crate::backfill;
use crate::decode::Decoder;
use crate::fork::{self, Fork};
use crate::metrics::Metrics;
use backon::{BackoffBuilder, ExponentialBuilder};
use futures::StreamExt;
use mojoscan_chia::{DecodeError, Limits};
use mojoscan_domain::{BlockId, Network};
use mojoscan_pipeline::{
    BlockEvents, BlockSource, Peak, PublishBatch, PublishError, Publisher, RewindTo, SourceError,
};
use mojoscan_runtime::progress::CatchUp;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info, info_span, warn};

/// How an ingestor works.
#[derive(Debug, Clone, Copy)]
pub struct IngestorOptions {
    /// Runs of 32 blocks that are fetched, decoded or waiting at a time.
    pub parallel: usize,
    /// Events after which a batch is published while catching up.
    pub batch_events: usize,
    /// Blocks after which a batch is published while catching up.
    pub batch_blocks: usize,
    /// Time after which a batch is published while catching up.
    pub batch_time: Duration,
    /// How often the log is told that the chain was heard from, when it does not grow.
    pub heartbeat: Duration,
    /// How long a source may be unavailable before the ingestor gives up; forever without.
    pub source_patience: Option<Duration>,
    /// Limits on the CLVM of one block.
    pub limits: Limits,
}

impl Default for IngestorOptions {
    fn default() -> Self {
        Self {
            parallel: std::thread::available_parallelism().map_or(2, usize::from) + 1,
            batch_events: 8_192,
            batch_blocks: 512,
            batch_time: Duration::from_secs(1),
            heartbeat: Duration::from_secs(10),
            source_patience: None,
            limits: Limits::default(),
        }
    }
}

/// Why an ingestor ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IngestError {
    /// The source gives nothing.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The log takes nothing.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// What the source gives at a height is not a block.
    #[error("height {height}: {error}")]
    Unreadable {
        /// The height.
        height: u32,
        /// Why not.
        error: Box<DecodeError>,
    },
    /// A block does not decode.
    #[error("block {block}: {error}")]
    Invalid {
        /// The block.
        block: BlockId,
        /// Why not.
        error: Box<DecodeError>,
    },
    /// The source gives another block than that of the height it was asked for.
    #[error("the source gives block {block} as that of height {height}: it is damaged")]
    Misplaced {
        /// The height.
        height: u32,
        /// The block.
        block: BlockId,
    },
    /// A block does not stand on the one before. The chain may have changed meanwhile.
    #[error("block {0} does not stand on the one before")]
    Unlinked(BlockId),
    /// The chain is not of the network it should be.
    #[error("block {block} is not of {network}: its genesis challenge or its rewards are of another network")]
    OtherNetwork {
        /// The block.
        block: BlockId,
        /// The network it should be of.
        network: Network,
    },
    /// A reorg goes back further than the log remembers.
    #[error(
        "the chain has changed further back than block {known}, which is as far as is remembered; rebuild from the \
         beginning: with a new data folder, or a new keyspace"
    )]
    TooDeep {
        /// The oldest block that is remembered.
        known: BlockId,
    },
    /// A bug.
    #[error("decoding panicked: {0}")]
    Panicked(String),
}

impl IngestError {
    /// Whether the chain changed while it was read: ask for the peak again.
    pub const fn is_reorg(&self) -> bool {
        matches!(self, Self::Source(SourceError::Missing { .. }) | Self::Unlinked(_))
    }

    /// The block that does not decode.
    const fn invalid(&self) -> Option<BlockId> {
        match self {
            Self::Invalid { block, .. } => Some(*block),
            _ => None,
        }
    }

    /// Whether the next attempt may go better: the source was not there, or changed while it was read.
    const fn is_passing(&self) -> bool {
        self.is_reorg()
            || matches!(
                self,
                Self::Source(SourceError::Unavailable(_)) | Self::Publish(PublishError::Unavailable(_))
            )
    }
}

/// How far an ingestor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Following {
    /// The last block published.
    pub published: Option<BlockId>,
    /// The height of the source's peak.
    pub peak_height: u32,
    /// When the source was last heard from, in milliseconds since 1970; none when nothing more can come.
    pub heard_at_ms: Option<u64>,
}

/// Follows a source, and publishes what it gives.
pub struct Ingestor<P> {
    source: Arc<dyn BlockSource>,
    publisher: P,
    network: Network,
    options: IngestorOptions,
    decoder: Arc<Decoder>,
    metrics: Metrics,
    /// The last block published.
    at: Option<BlockId>,
    following: watch::Sender<Option<Following>>,
    /// Held while a batch is published.
    publishing: Arc<Mutex<()>>,
}

impl<P: Publisher> Ingestor<P> {
    /// An ingestor that has not begun yet.
    pub fn new(
        source: Arc<dyn BlockSource>,
        publisher: P,
        network: Network,
        options: IngestorOptions,
    ) -> Self {
        let decoder = Arc::new(Decoder::new(Arc::clone(&source), network, options.limits));
        let (metrics, following, publishing) = (Metrics::new(), watch::Sender::new(None), Arc::default());
        Self { source, publisher, network, options, decoder, metrics, at: None, following, publishing }
    }

    /// How far it is; none before it has published anything.
    pub fn following(&self) -> watch::Receiver<Option<Following>> {
        self.following.subscribe()
    }

    /// Runs until it is told to stop. A batch that is being published then is published to its end.
    ///
    /// # Errors
    /// [`IngestError`] if the source or the log fail for good, or a block does not decode.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), IngestError> {
        let publishing = Arc::clone(&self.publishing);
        let stopped = async {
            stop.cancelled().await;
            // who waits for the lock is served in turn: before the next batch
            publishing.lock().await
        };
        let failed = tokio::select! {
            biased;
            _ = stopped => return Ok(()),
            followed = self.follow() => followed,
        };
        if stop.is_cancelled()
            && let Err(error) = &failed
        {
            // whoever goes on from here publishes it
            info!(%error, "the last batch was not published");
            return Ok(());
        }
        failed
    }

    async fn follow(&mut self) -> Result<(), IngestError> {
        let mut failing: Option<(Instant, _)> = None;
        let mut resumed = false;
        let mut doubted = None;
        loop {
            let Err(error) = self.round(&mut resumed).await else {
                (failing, doubted) = (None, None);
                continue;
            };
            self.metrics.failed(&error);
            // a block that does not decode may have been read while the chain changed below it, or the process stood
            // still meanwhile: it is read once more, with all it refers to
            let invalid = error.invalid();
            if !error.is_passing() && (invalid.is_none() || invalid == doubted) {
                return Err(error);
            }
            doubted = invalid.or(doubted);
            if invalid.is_some() || error.is_reorg() {
                self.decoder = self.fresh_decoder();
            }
            let (since, delays) = failing.get_or_insert_with(|| (Instant::now(), delays()));
            if self.options.source_patience.is_some_and(|patience| since.elapsed() >= patience) {
                return Err(error);
            }
            let delay = delays.next().unwrap_or(Duration::from_secs(30));
            warn!(%error, ?delay, "trying again");
            // what the log has taken is asked anew after a failure of unknown outcome
            resumed &= !matches!(error, IngestError::Publish(_));
            tokio::time::sleep(delay).await;
        }
    }

    /// Catches up with the source's peak, says that it was heard from, and waits for another.
    async fn round(&mut self, resumed: &mut bool) -> Result<(), IngestError> {
        if !*resumed {
            self.at = self.publisher.resume().await?;
            self.source.resume(self.at).await?;
            info!(source = self.source.describe(), network = %self.network, from = self.at.map(display), "following");
            *resumed = true;
        }
        let peak = self.source.peak().await?;
        self.metrics.peak(peak);
        match fork::find(&*self.source, &mut self.publisher, self.at, peak).await? {
            Fork::None if self.at == Some(peak.block) => self.publish(None, vec![], peak).await?,
            Fork::None => self.catch_up(None, peak).await?,
            Fork::Behind => {
                warn!(source = %peak.block, log = self.at.map(display), "the source is behind the log");
                self.publish(None, vec![], peak).await?;
            }
            Fork::Rewind(to) => {
                info!(from = self.at.map(display), to = to.0.map(display), peak = %peak.block, "reorg");
                self.metrics.reorg(self.at, to.0);
                self.decoder = self.fresh_decoder();
                self.catch_up(Some(to), peak).await?;
            }
        }
        self.source.changed_peak(peak.block, self.options.heartbeat).await?;
        Ok(())
    }

    /// Publishes the blocks up to the peak, in batches; a rewind goes with the first. A block is published once it is
    /// known to be the source's: the next one stands on it, or it is the peak.
    async fn catch_up(&mut self, mut rewind: Option<RewindTo>, peak: Peak) -> Result<(), IngestError> {
        let base = rewind.map_or(self.at, |to| to.0);
        let first = base.map_or(0, |block| block.height + 1);
        let blocks =
            backfill::blocks(Arc::clone(&self.decoder), first, peak.block.height, self.options.parallel);
        let mut blocks = pin!(blocks);
        let mut progress = CatchUp::begin(first, peak.block.height);
        let mut last = base;
        let (mut open, mut since) = (vec![], Instant::now());
        // what is told of the source's peak meanwhile
        let (mut told, mut heard) = (peak, Instant::now());
        while let Some(run) = blocks.next().await {
            let run = run?;
            for block in run {
                self.check_link(last, &block)?;
                if self.is_full(&open, since) {
                    if heard.elapsed() >= self.options.heartbeat {
                        (told, heard) = (self.source.peak().await?, Instant::now());
                        self.metrics.peak(told);
                    }
                    self.publish(rewind.take(), std::mem::take(&mut open), told).await?;
                    since = Instant::now();
                    if let (Some(progress), Some(last)) = (&mut progress, last) {
                        progress.reached(last.height, told.block.height);
                    }
                }
                last = Some(block.header.id);
                open.push(block);
            }
        }
        if last != Some(peak.block) {
            return Err(IngestError::Unlinked(peak.block));
        }
        if !open.is_empty() || rewind.is_some() {
            self.publish(rewind, open, told).await?;
        }
        if let Some(progress) = progress {
            progress.end();
        }
        Ok(())
    }

    /// One that remembers no older generators: they may be of blocks that have left the chain.
    fn fresh_decoder(&self) -> Arc<Decoder> {
        Arc::new(Decoder::new(Arc::clone(&self.source), self.network, self.options.limits))
    }

    fn check_link(&self, last: Option<BlockId>, block: &BlockEvents) -> Result<(), IngestError> {
        let stands = match last {
            Some(last) => block.header.previous() == Some(last),
            None => block.header.previous_hash == self.network.genesis_challenge(),
        };
        if stands { Ok(()) } else { Err(IngestError::Unlinked(block.header.id)) }
    }

    fn is_full(&self, open: &[BlockEvents], since: Instant) -> bool {
        let events: usize = open.iter().map(|block| block.coins.len()).sum();
        !open.is_empty()
            && (events >= self.options.batch_events
                || open.len() >= self.options.batch_blocks
                || since.elapsed() >= self.options.batch_time)
    }

    async fn publish(
        &mut self,
        rewind: Option<RewindTo>,
        blocks: Vec<BlockEvents>,
        peak: Peak,
    ) -> Result<(), IngestError> {
        let last = blocks.last().map(|block| block.header.id);
        let (base, peak_height) = (rewind.map_or(self.at, |to| to.0), peak.block.height);
        let over = peak.finished && last.or(base) == Some(peak.block);
        let heard_at_ms = (!over).then_some(peak.heard_at_ms);
        let batch = PublishBatch { rewind, blocks, peak_height, heard_at_ms };
        let (size, started) = (Metrics::size(&batch), Instant::now());
        let span = info_span!("publish", from = base.map(display), to = last.map(display));
        let publishing = Arc::clone(&self.publishing).lock_owned().await;
        self.publisher.publish(batch).instrument(span).await?;
        drop(publishing);
        self.at = last.or(base);
        self.metrics.published(size, started.elapsed(), self.at);
        self.following.send_replace(Some(Following { published: self.at, peak_height, heard_at_ms }));
        Ok(())
    }
}

fn delays() -> backon::ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(250))
        .with_max_delay(Duration::from_secs(30))
        .with_jitter()
        .without_max_times()
        .build()
}
