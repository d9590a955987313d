//! `record`: writes a recording of a source.

use crate::cli::ConfigFile;
use crate::standalone::{ingest_failure, source_failure};
use mojoscan_chia::Block;
use mojoscan_domain::{BlockId, Network};
use mojoscan_ingestor::IngestError;
use mojoscan_ingestor::source::recording::RecordingWriter;
use mojoscan_ingestor::source::{self, SourceUrl};
use mojoscan_pipeline::{BlockSource, Peak, SourceError};
use mojoscan_runtime::exit::{self, Failure};
use mojoscan_runtime::tasks::terminated;
use mojoscan_runtime::telemetry::{Telemetry, TelemetryConfig};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;
use tracing::{info, warn};

/// Blocks fetched at once.
const RUN: u32 = 32;
/// Longest wait for the new peak, where a reorg was met.
const SETTLE: Duration = Duration::from_secs(1);
/// Time until a source that is not there is asked again.
const PAUSE: Duration = Duration::from_secs(1);
/// Most blocks between two recorded peaks: what is held in memory.
const STEP_MAX: u32 = 4_096;

/// Settings of `record`. SIGTERM or SIGINT ends the recording; what was recorded until then is complete.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RecordConfig {
    /// Where blocks come from, as for `standalone`.
    #[arg(long, env = "MOJOSCAN_SOURCE", value_name = "URL")]
    source: SourceUrl,

    /// The network, as for `standalone`.
    #[arg(long, env = "MOJOSCAN_NETWORK", value_name = "NAME")]
    network: Option<Network>,

    /// The file to write. It must not be there yet.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// End after so many seconds without a new block. A signal ends the recording as well.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    quiet_seconds: u64,

    #[command(flatten)]
    file: ConfigFile,

    #[command(flatten)]
    telemetry: TelemetryConfig,
}

pub(crate) async fn run(config: RecordConfig) -> Result<(), Failure> {
    let _telemetry = Telemetry::start(&config.telemetry, "mojoscan-record")?;
    let (source, network) = source::open(&config.source, config.network, super::demo::RECORDING)
        .await
        .map_err(|error| source_failure(&error))?;
    // heard from now on
    let stopped = terminated();
    // a source that is not there leaves no file behind
    let peak = source.peak().await.map_err(|error| source_failure(&error))?;
    let name = config.out.display().to_string();
    let written = |error: std::io::Error| Failure::failed(format!("{name}: {error}"));
    let file = File::create_new(&config.out)
        .map_err(|error| Failure::new(exit::CONFIG, format!("--out {name}: {error}")))?;
    let mut recorder = Recorder {
        writer: RecordingWriter::new(BufWriter::new(file), network).map_err(written)?,
        chain: vec![],
        recorded: None,
        name: name.clone(),
    };
    tokio::select! {
        recorded = recorder.follow(&*source, peak, Duration::from_secs(config.quiet_seconds)) => recorded?,
        () = stopped => {}
    }
    recorder.writer.finish().map_err(written)?.into_inner().map_err(|error| written(error.into_error()))?;
    info!(file = name, peak = recorder.recorded.map(display), "recording is complete");
    Ok(())
}

/// The peak once it is another, or as it is when the patience ends or the source is not there.
async fn next_peak(
    source: &dyn BlockSource,
    known: Peak,
    patience: Duration,
    quiet_until: Instant,
) -> Result<Peak, Failure> {
    match source.changed_peak(known.block, patience).await {
        Ok(peak) => Ok(peak),
        Err(error) => {
            pause(&error.into(), quiet_until).await?;
            Ok(known)
        }
    }
}

/// Waits for a source that is not there, or whose chain changes, as long as there may be no new block.
async fn pause(error: &IngestError, quiet_until: Instant) -> Result<(), Failure> {
    let passing = error.is_reorg() || matches!(error, IngestError::Source(SourceError::Unavailable(_)));
    if !passing || Instant::now() >= quiet_until {
        return Err(ingest_failure(error));
    }
    warn!(%error, "trying again");
    tokio::time::sleep(PAUSE).await;
    Ok(())
}

/// Writes what leads from peak to peak.
struct Recorder<W> {
    writer: RecordingWriter<W>,
    /// The chain as recorded, by height.
    chain: Vec<BlockId>,
    /// The last peak that was written.
    recorded: Option<BlockId>,
    /// The file's name.
    name: String,
}

impl<W: Write> Recorder<W> {
    /// Records until nothing new came for as long as `quiet`. Cut off at any time, what was written is complete.
    async fn follow(
        &mut self,
        source: &dyn BlockSource,
        mut peak: Peak,
        quiet: Duration,
    ) -> Result<(), Failure> {
        let mut last = Instant::now();
        loop {
            let step = match self.step(source, peak).await {
                Ok(step) => step,
                Err(error) => {
                    pause(&error, last + quiet).await?;
                    if error.is_reorg() {
                        peak = next_peak(source, peak, SETTLE, last + quiet).await?;
                    }
                    continue;
                }
            };
            if let Some((top, _)) = step.last() {
                self.write(*top, &step)
                    .map_err(|error| Failure::failed(format!("{}: {error}", self.name)))?;
                last = Instant::now();
                if *top != peak.block {
                    continue;
                }
            }
            if peak.finished || last.elapsed() >= quiet {
                return Ok(());
            }
            let left = quiet.saturating_sub(last.elapsed());
            peak = next_peak(source, peak, left, last + quiet).await?;
        }
    }

    fn write(&mut self, top: BlockId, step: &[(BlockId, Vec<u8>)]) -> std::io::Result<()> {
        for (id, block) in step {
            self.writer.block(*id, block)?;
        }
        self.writer.peak(top)?;
        self.recorded = Some(top);
        info!(peak = %top, blocks = step.len(), "recorded");
        Ok(())
    }

    /// The next blocks that lead to a peak.
    async fn step(
        &mut self,
        source: &dyn BlockSource,
        peak: Peak,
    ) -> Result<Vec<(BlockId, Vec<u8>)>, IngestError> {
        let kept = self.go_back(source, peak).await?;
        let step = self.go_on(source, peak).await;
        if step.is_err() {
            self.chain.truncate(kept);
        }
        step
    }

    /// Drops what has left the chain. Returns how many blocks stay.
    async fn go_back(&mut self, source: &dyn BlockSource, peak: Peak) -> Result<usize, SourceError> {
        while let Some(top) = self.chain.last().copied() {
            let there =
                if top.height > peak.block.height { None } else { source.find_id(top.height).await? };
            if there == Some(top) {
                break;
            }
            self.chain.pop();
        }
        Ok(self.chain.len())
    }

    /// Fetches the blocks above what stays.
    async fn go_on(
        &mut self,
        source: &dyn BlockSource,
        peak: Peak,
    ) -> Result<Vec<(BlockId, Vec<u8>)>, IngestError> {
        let mut step = vec![];
        let first = u32::try_from(self.chain.len()).unwrap_or(u32::MAX);
        let last = peak.block.height.min(first.saturating_add(STEP_MAX - 1));
        let mut start = first;
        while start <= last {
            let end = last.min(start + RUN - 1);
            for (height, bytes) in (start..).zip(source.blocks(start, end).await?) {
                let block = Block::from_bytes(&bytes)
                    .map_err(|error| IngestError::Unreadable { height, error: Box::new(error) })?;
                let stands = self.chain.last().is_none_or(|below| below.hash == block.previous_hash());
                if !stands || block.id().height != height {
                    return Err(IngestError::Unlinked(block.id()));
                }
                self.chain.push(block.id());
                step.push((block.id(), bytes));
            }
            start = end + 1;
        }
        match self.chain.last() {
            Some(top) if top.height == peak.block.height && *top != peak.block => {
                Err(IngestError::Unlinked(*top))
            }
            _ => Ok(step),
        }
    }
}
