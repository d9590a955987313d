//! `digest`: the digest of a data folder's rows.

use mojoscan_address::store::AddressStore;
use mojoscan_address::store::embedded::EmbeddedAddressStore;
use mojoscan_domain::Network;
use mojoscan_engines::embedded::Embedded;
use mojoscan_runtime::exit::{self, Failure};
use std::path::PathBuf;

/// Memory for reading, in bytes.
const CACHE: u64 = 32 << 20;

/// What to look at.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DigestOptions {
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
}

pub(crate) async fn run(options: DigestOptions) -> Result<(), Failure> {
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
    let block =
        position.block.map_or_else(|| "-".to_owned(), |block| format!("{} {}", block.height, block.hash));
    exit::print(&format!("{block} {}\n", digest.to_bytes32()))
}
