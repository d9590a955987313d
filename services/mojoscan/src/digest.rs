//! `digest`: the digest of the rows of addresses, in a data folder or behind a service.

use crate::cli::ConfigFile;
use crate::fleet;
use mojoscan_address::store::AddressStore;
use mojoscan_address::store::embedded::EmbeddedAddressStore;
use mojoscan_domain::{BlockId, Bytes32, Network};
use mojoscan_engines::embedded::Embedded;
use mojoscan_proto::address::v1::GetDigestRequest;
use mojoscan_proto::address::v1::address_service_client::AddressServiceClient;
use mojoscan_runtime::exit::{self, Failure};
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;
use tonic::Code;

/// Memory for reading, in bytes.
const CACHE: u64 = 32 << 20;
/// How long a service is asked again that is not there, or whose shards are at different blocks.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two such attempts.
const AGAIN: Duration = Duration::from_millis(50);

/// What to look at.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DigestOptions {
    /// Ask a running service, as http://host:port, instead of a data folder. The folder's settings count for nothing
    /// then.
    #[arg(long, value_name = "URL")]
    address_service: Option<String>,

    /// The data folder. No process may have it open.
    #[arg(long, env = "MOJOSCAN_DATA", default_value = "mojoscan-data", value_name = "DIR")]
    data: PathBuf,

    /// The network the folder was made for.
    #[arg(long, env = "MOJOSCAN_NETWORK", default_value = "mainnet", value_name = "NAME")]
    network: Network,

    /// What counted as dust when the folder was made, in mojos.
    #[arg(long, env = "MOJOSCAN_DUST_BELOW", default_value_t = 10_000, value_name = "MOJOS")]
    dust_below: u64,

    /// Compute the digest anew from every row, and compare.
    #[arg(long)]
    rescan: bool,

    #[command(flatten)]
    file: ConfigFile,
}

pub(crate) async fn run(options: DigestOptions) -> Result<(), Failure> {
    let (block, digest) = match &options.address_service {
        Some(service) => ask(service, options.rescan).await?,
        None => read(&options).await?,
    };
    let block = block.map_or_else(|| "-".to_owned(), |block| format!("{} {}", block.height, block.hash));
    exit::print(&format!("{block} {digest}\n"))
}

/// Asks a service. Its shards are at the same block only now and then while blocks come quickly.
async fn ask(service: &str, recompute: bool) -> Result<(Option<BlockId>, Bytes32), Failure> {
    let mut client = AddressServiceClient::new(fleet::gateway::channel(&[service.to_owned()])?);
    let end = Instant::now() + PATIENCE;
    let answer = loop {
        match client.get_digest(GetDigestRequest { recompute }).await {
            Ok(answer) => break answer.into_inner(),
            Err(status) if status.code() == Code::Unavailable && Instant::now() < end => {
                tokio::time::sleep(AGAIN).await;
            }
            Err(status) => return Err(Failure::failed(format!("{service}: {}", status.message()))),
        }
    };
    let hash = |bytes: &[u8]| Bytes32::try_from(bytes).map_err(Failure::failed);
    let block = answer.as_of.and_then(|as_of| as_of.block);
    let block =
        block.map(|block| Ok(BlockId { height: block.height, hash: hash(&block.hash)? })).transpose()?;
    Ok((block, hash(&answer.digest)?))
}

/// Reads a data folder.
async fn read(options: &DigestOptions) -> Result<(Option<BlockId>, Bytes32), Failure> {
    if !options.data.is_dir() {
        return Err(Failure::new(exit::CONFIG, format!("--data {}: no such folder", options.data.display())));
    }
    let failed =
        |error: mojoscan_pipeline::StoreError| Failure::new(exit::CONFIG, format!("--data: {error}"));
    let embedded = Embedded::open(&options.data, CACHE).map_err(failed)?;
    let store = EmbeddedAddressStore::open(&embedded, options.network.name(), options.dust_below, 0)
        .map_err(failed)?;
    let (position, digest) = store.digest(0).await.map_err(failed)?;
    if options.rescan {
        let (_, again) = store.recomputed_digest(0).await.map_err(failed)?;
        if again != digest {
            let (kept, found) = (digest.to_bytes32(), again.to_bytes32());
            let message = format!("the rows have the digest {found}, but {kept} was kept of them");
            return Err(Failure::new(exit::DATA, message));
        }
    }
    Ok((position.block, digest.to_bytes32()))
}
