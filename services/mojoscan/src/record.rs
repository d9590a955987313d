//! `record`: writes a recording of a source.

use crate::cli::ConfigFile;
use crate::standalone::{ingest_failure, source_failure};
use mojoscan_chia::Block;
use mojoscan_domain::{BlockId, Network};
use mojoscan_ingestor::IngestError;
use mojoscan_ingestor::source::recording::RecordingWriter;
use mojoscan_ingestor::source::{self, SourceUrl};
use mojoscan_pipeline::{BlockSource, Peak};
use mojoscan_runtime::exit::{self, Failure};
use mojoscan_runtime::telemetry::{Telemetry, TelemetryConfig};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;
use tracing::info;

/// Blocks fetched at once.
const RUN: u32 = 32;

/// Settings of `record`.
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

    /// End after so many seconds without a new block.
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
    let name = config.out.display().to_string();
    let written = |error: std::io::Error| Failure::failed(format!("{name}: {error}"));
    let file = File::create_new(&config.out)
        .map_err(|error| Failure::new(exit::CONFIG, format!("--out {name}: {error}")))?;
    let mut recorder = Recorder {
        writer: RecordingWriter::new(BufWriter::new(file), network).map_err(written)?,
        chain: vec![],
    };
    let quiet = Duration::from_secs(config.quiet_seconds);
    let mut last = Instant::now();
    let mut peak = source.peak().await.map_err(|error| source_failure(&error))?;
    loop {
        let step = recorder.step(&*source, peak).await.map_err(|error| ingest_failure(&error))?;
        for (id, block) in &step {
            recorder.writer.block(*id, block).map_err(written)?;
        }
        if !step.is_empty() {
            recorder.writer.peak(peak.block).map_err(written)?;
            info!(peak = %peak.block, blocks = step.len(), "recorded");
            last = Instant::now();
        }
        if peak.finished || last.elapsed() >= quiet {
            break;
        }
        let left = quiet.saturating_sub(last.elapsed());
        peak = source.changed_peak(peak.block, left).await.map_err(|error| source_failure(&error))?;
    }
    recorder.writer.finish().map_err(written)?.into_inner().map_err(|error| written(error.into_error()))?;
    info!(file = name, height = peak.block.height, "recording is complete");
    Ok(())
}

/// Writes what leads from peak to peak.
struct Recorder<W> {
    writer: RecordingWriter<W>,
    /// The chain as recorded, by height.
    chain: Vec<BlockId>,
}

impl<W: Write> Recorder<W> {
    /// The blocks that lead to a peak from the one before.
    async fn step(
        &mut self,
        source: &dyn BlockSource,
        peak: Peak,
    ) -> Result<Vec<(BlockId, Vec<u8>)>, IngestError> {
        while let Some(top) = self.chain.last().copied() {
            let there =
                if top.height > peak.block.height { None } else { source.find_id(top.height).await? };
            if there == Some(top) {
                break;
            }
            self.chain.pop();
        }
        let mut step = vec![];
        let first = u32::try_from(self.chain.len()).unwrap_or(u32::MAX);
        let mut start = first;
        while start <= peak.block.height {
            let end = peak.block.height.min(start + RUN - 1);
            for (height, bytes) in (start..).zip(source.blocks(start, end).await?) {
                let block =
                    Block::from_bytes(&bytes).map_err(|error| IngestError::Unreadable { height, error })?;
                let stands = self.chain.last().is_none_or(|below| below.hash == block.previous_hash());
                if !stands || block.id().height != height {
                    return Err(IngestError::Unlinked(block.id()));
                }
                self.chain.push(block.id());
                step.push((block.id(), bytes));
            }
            start = end + 1;
        }
        Ok(step)
    }
}
