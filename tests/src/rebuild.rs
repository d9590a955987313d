//! What the rows of addresses must be: a clean rebuild, block by block, of a chain that never changed.

use crate::chain::Blocks;
use crate::world::Built;
use mojoscan_address::projection::{AddressProjection, List};
use mojoscan_address::store::embedded::EmbeddedAddressStore;
use mojoscan_address::store::{AddressStore, AddressView, ViewError};
use mojoscan_chia::{Block, Limits};
use mojoscan_domain::record::{CoinEvent, Place, Watermark};
use mojoscan_domain::{BlockId, Bytes32, Network, Position, PuzzleHash};
use mojoscan_engines::embedded::Embedded;
use mojoscan_pipeline::{Projection, Store};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// Coins below this many mojos are dust.
pub const DUST_BELOW: u64 = 10_000;
/// Memory for reading, in bytes.
const CACHE: u64 = 16 << 20;
/// The tables that hold rows. What is not here says how the rows came about, which may differ.
const TABLES: [&str; 7] = ["accounts", "balances", "coins", "coin_numbers", "items", "nfts", "past_nfts"];

/// The rows of a chain.
pub struct Rebuilt {
    blocks: Blocks,
    embedded: Embedded,
    /// The store that has them.
    pub store: EmbeddedAddressStore,
    _folder: TempDir,
}

/// Rebuilds chains, and remembers what their blocks decode to.
#[derive(Default)]
pub struct Rebuilder {
    decoded: HashMap<Bytes32, Arc<Vec<(Place, CoinEvent)>>>,
    /// Everybody who ever had a coin, on any chain.
    pub owners: BTreeSet<PuzzleHash>,
}

impl Rebuilder {
    /// Rebuilds a chain.
    pub async fn rebuild(&mut self, blocks: Blocks) -> Rebuilt {
        let folder = tempfile::tempdir().unwrap();
        let embedded = Embedded::open(folder.path(), CACHE).unwrap();
        let depth = u32::MAX;
        let store =
            EmbeddedAddressStore::open(&embedded, Network::Simulator0.name(), DUST_BELOW, depth).unwrap();
        let projection = AddressProjection { dust_below: DUST_BELOW };
        let mut at = Position::START;
        for block in &*blocks {
            let events = self.decode(block, &blocks);
            let prior = store.load(0, at, projection.keys(&events)).await.unwrap();
            let changes = projection.project(prior, &events).unwrap();
            let to = Position { block: Some(block.id), seq: at.seq + 1, offset: at.offset + 1, ..at };
            let watermark = Watermark {
                block: block.id,
                previous: at.block,
                peak_height: block.id.height,
                heard_at_ms: None,
            };
            store.commit(0, at, changes, to, watermark).await.unwrap();
            at = to;
        }
        Rebuilt { blocks, embedded, store, _folder: folder }
    }

    fn decode(&mut self, built: &Built, chain: &Blocks) -> Arc<Vec<(Place, CoinEvent)>> {
        if let Some(known) = self.decoded.get(&built.id.hash) {
            return Arc::clone(known);
        }
        let block = Block::from_bytes(&built.bytes).unwrap();
        let older = block
            .references()
            .iter()
            .map(|height| Block::from_bytes(&chain[*height as usize].bytes).unwrap());
        let references: Vec<Vec<u8>> = older.map(|older| older.generator().unwrap().to_vec()).collect();
        let decoded = mojoscan_chia::decode(&block, &references, Limits::default()).unwrap();
        let timestamp = decoded.header.timestamp.unwrap_or_default();
        let events: Vec<(Place, CoinEvent)> = (0..)
            .zip(decoded.events.into_coin_events())
            .map(|(index, event)| (Place { block: built.id, timestamp, index }, event))
            .collect();
        self.owners.extend(events.iter().map(|(_, event)| event.owner()));
        let events = Arc::new(events);
        self.decoded.insert(built.id.hash, Arc::clone(&events));
        events
    }
}

impl Rebuilt {
    /// Whether a block is in the chain.
    pub fn has(&self, block: BlockId) -> bool {
        self.blocks.get(block.height as usize).is_some_and(|found| found.id == block)
    }

    /// Every row as it is stored.
    pub fn rows(&self) -> Rows {
        rows(&self.embedded)
    }
}

/// Rows as they are stored: table, key, value.
pub type Rows = BTreeMap<(&'static str, Vec<u8>), Vec<u8>>;

/// Every row of a data folder. No process may have it open.
pub fn rows_of(data: &Path) -> Rows {
    rows(&Embedded::open(data, CACHE).unwrap())
}

fn rows(embedded: &Embedded) -> Rows {
    let mut rows = Rows::new();
    for name in TABLES {
        let table = embedded.table(&format!("address.{name}")).unwrap();
        for guard in table.iter() {
            let (key, value) = guard.into_inner().unwrap();
            rows.insert((name, key.to_vec()), value.to_vec());
        }
    }
    rows
}

/// Fails the test, naming the first rows that differ.
pub fn assert_same_rows(found: &Rows, expected: &Rows, context: &str) {
    let missing: Vec<_> =
        expected.iter().filter(|(key, value)| found.get(key) != Some(value)).take(3).collect();
    let extra: Vec<_> =
        found.iter().filter(|(key, value)| expected.get(key) != Some(value)).take(3).collect();
    assert!(missing.is_empty() && extra.is_empty(), "{context}: missing {missing:?}, extra {extra:?}");
}

/// All that a view tells of an owner.
///
/// # Errors
/// Those of the view.
pub async fn tell<V: AddressView>(view: &V, owner: PuzzleHash) -> Result<String, ViewError> {
    let (balances, nfts) = (view.balances(owner).await?, view.nfts(owner, usize::MAX).await?);
    let mut told = format!("{:?}\n{balances:?}\n{nfts:?}\n", view.account(owner).await?);
    for list in List::ALL {
        told += &format!("{list:?} {:?}\n", view.items(owner, list, u64::MAX, usize::MAX).await?);
    }
    Ok(told + &format!("{:?}\n", view.coins(owner, u64::MAX, usize::MAX).await?))
}

/// Compares all that two stores tell of these owners at a height.
pub async fn assert_same_story<S: AddressStore>(
    found: &S,
    expected: &EmbeddedAddressStore,
    owners: &BTreeSet<PuzzleHash>,
    height: u32,
    context: &str,
) {
    let clean = expected.view(0, Some(height)).await.unwrap();
    for owner in owners {
        let view = found.view(found.partition_of(*owner), Some(height)).await.unwrap();
        let (told, right) = (tell(&view, *owner).await.unwrap(), tell(&clean, *owner).await.unwrap());
        assert_eq!(told, right, "{context}: {owner} at height {height}");
    }
}
