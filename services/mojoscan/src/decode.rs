//! `decode`: FullBlock files to the records that go to the topics.

mod json;

use crate::cli::ConfigFile;
use mojoscan_chia::{Block, DecodeError, Decoded, Limits};
use mojoscan_domain::Network;
use mojoscan_domain::record::CoinEvent;
use mojoscan_runtime::exit::{self, Failure};
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What to decode.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DecodeOptions {
    /// The network. Rewards of another network are not refused.
    #[arg(long, env = "MOJOSCAN_NETWORK", default_value = "mainnet", value_name = "NAME")]
    network: Network,

    /// FullBlock files: `.fullblock` with the raw bytes, `.json` as the node's `get_block` gives them. Older
    /// generators that a block refers to are looked up among them.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    file: ConfigFile,
}

/// Decodes the files one by one. Good ones are printed even if another is bad.
pub(crate) fn run(options: &DecodeOptions) -> Result<(), Failure> {
    let blocks: Vec<(&Path, Result<Block, String>)> =
        options.files.iter().map(|path| (path.as_path(), read(path))).collect();
    let generators: HashMap<u32, &[u8]> = blocks
        .iter()
        .filter_map(|(_, block)| block.as_ref().ok())
        .filter_map(|block| Some((block.id().height, block.generator()?)))
        .collect();
    let mut output = BufWriter::new(io::stdout().lock());
    let mut bad = 0;
    for (path, block) in &blocks {
        let decoded = block.clone().and_then(|block| decode(&block, &generators).map_err(|e| e.to_string()));
        match decoded {
            Ok(decoded) => print(&mut output, decoded).map_err(Failure::failed)?,
            Err(reason) => {
                bad += 1;
                eprintln!("{}: {}", path.display(), reason.replace('\n', " "));
            }
        }
    }
    output.flush().map_err(Failure::failed)?;
    if bad == 0 {
        return Ok(());
    }
    Err(Failure::new(exit::DATA, format!("{bad} of {} files are bad ({})", blocks.len(), options.network)))
}

fn read(path: &Path) -> Result<Block, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let json = path.extension().is_some_and(|extension| extension == "json");
    let block = if json { Block::from_json(&bytes) } else { Block::from_bytes(&bytes) };
    block.map_err(|error| error.to_string())
}

fn decode(block: &Block, generators: &HashMap<u32, &[u8]>) -> Result<Decoded, DecodeError> {
    let references: Vec<Vec<u8>> =
        block.references().iter().filter_map(|height| generators.get(height)).map(|g| g.to_vec()).collect();
    mojoscan_chia::decode(block, &references, Limits::default())
}

/// Prints a block and its events. A spend that goes to several possible owners is printed once, under the first, and
/// one that is several records as one.
fn print(output: &mut impl Write, decoded: Decoded) -> io::Result<()> {
    line(output, &json::Line::block(&decoded.header))?;
    let events = (0_u32..).zip(decoded.events.into_coin_events());
    let mut whole: Option<(u32, CoinEvent)> = None;
    for (index, event) in events {
        match (&event, &mut whole) {
            (CoinEvent::Spent(spent), _) if spent.copy > 0 => {}
            (CoinEvent::Spent(part), Some((_, CoinEvent::Spent(spent)))) if part.part > 0 => {
                spent.outputs.extend(part.outputs.iter().cloned());
            }
            _ => {
                if let Some((index, event)) = whole.replace((index, event)) {
                    line(output, &json::Line::coin(&decoded.header, index, &event))?;
                }
            }
        }
    }
    match whole {
        Some((index, event)) => line(output, &json::Line::coin(&decoded.header, index, &event)),
        None => Ok(()),
    }
}

fn line(output: &mut impl Write, line: &json::Line) -> io::Result<()> {
    serde_json::to_writer(&mut *output, line)?;
    output.write_all(b"\n")
}
