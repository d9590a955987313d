//! Rows that fill more than one bucket: of numbers, and of heights.

use crate::address;
use crate::conformance::DUST_BELOW;
use crate::conformance::chain::owners;
use crate::conformance::model::PROJECTION;
use crate::keyspace::Keyspace;
use mojoscan_address::projection::List;
use mojoscan_address::store::embedded::EmbeddedAddressStore;
use mojoscan_address::store::{AddressStore, AddressView};
use mojoscan_domain::record::{CoinCreated, CoinEvent, Memos, Place, Watermark};
use mojoscan_domain::{Asset, BlockId, Bytes32, Coin, Digest, Kind, Position, PuzzleHash};
use mojoscan_engines::embedded::Embedded;
use mojoscan_pipeline::{Partition, Projection, Store};

/// Deep enough for every height below.
const DEPTH: u32 = 200_000;
/// Heights of blocks, on both sides of where a bucket of heights ends.
const HEIGHTS: [u32; 9] = [1, 2, 32_767, 32_768, 32_769, 33_000, 65_535, 65_536, 70_000];
/// Coins of a block: in nine blocks more than a bucket holds.
const COINS: u64 = 2_000;

/// One owner's blocks, put into two stores.
struct Twins {
    cql: crate::ScyllaAddressStore,
    embedded: EmbeddedAddressStore,
    owner: PuzzleHash,
    partition: Partition,
    at: Position,
}

impl Twins {
    /// A block at a height: coins of XCH, of one CAT, and an NFT.
    async fn grow(&mut self, height: u32) {
        let block = BlockId { height, hash: Bytes32::new([height.to_le_bytes()[0]; 32]) };
        let coin = |index: u64| {
            let id = Digest::of(&[&self.at.seq.to_le_bytes(), &index.to_le_bytes()]).to_bytes32();
            let asset = match index % 100 {
                0 => Asset::new(Kind::Nft, id),
                1 => Asset::new(Kind::Cat, Bytes32::new([7; 32])),
                _ => Asset::XCH,
            };
            let created = CoinCreated {
                id,
                coin: Coin { parent: id, puzzle_hash: self.owner, amount: DUST_BELOW + index },
                owner: self.owner,
                asset,
                memos: Memos::default(),
                sender: None,
                transaction: None,
                passing: false,
            };
            let index = u32::try_from(index).unwrap();
            (Place { block, timestamp: u64::from(height), index }, CoinEvent::Created(created))
        };
        let events: Vec<_> = (0..COINS).map(coin).collect();
        let seq = self.at.seq + COINS + 1;
        let to = Position { epoch: self.at.epoch, block: Some(block), seq, offset: seq };
        let previous = self.at.block;
        let watermark = Watermark { block, previous, peak_height: height, heard_at_ms: None };
        let prior = self.cql.load(self.partition, self.at, PROJECTION.keys(&events)).await.unwrap();
        let changes = PROJECTION.project(prior, &events).unwrap();
        self.cql.commit(self.partition, self.at, changes, to, watermark).await.unwrap();
        // the embedded store has one partition only
        let prior = self.embedded.load(0, self.at, PROJECTION.keys(&events)).await.unwrap();
        let changes = PROJECTION.project(prior, &events).unwrap();
        self.embedded.commit(0, self.at, changes, to, watermark).await.unwrap();
        self.at = to;
    }

    async fn rewind(&mut self, height: u32) {
        let hash = Bytes32::new([height.to_le_bytes()[0]; 32]);
        let seq = self.at.seq + 1;
        let block = Some(BlockId { height, hash });
        let to = Position { epoch: self.at.epoch + 1, block, seq, offset: seq };
        self.cql.rewind(self.partition, self.at, to).await.unwrap();
        self.embedded.rewind(0, self.at, to).await.unwrap();
        self.at = to;
    }

    /// Both say the same, at the tip and at every older height, and at the edges of buckets.
    async fn check(&self) {
        let digest = self.embedded.digest(0).await.unwrap();
        assert_eq!(self.cql.digest(self.partition).await.unwrap(), digest);
        assert_eq!(self.cql.recomputed_digest(self.partition).await.unwrap(), digest);
        let tip = self.at.block.unwrap().height;
        let heights = HEIGHTS.into_iter().flat_map(|height| [height.saturating_sub(1), height, height + 1]);
        for height in heights.filter(|height| *height <= tip) {
            let found = pages(&self.cql.view(self.partition, Some(height)).await.unwrap(), self.owner).await;
            let expected = pages(&self.embedded.view(0, Some(height)).await.unwrap(), self.owner).await;
            assert_eq!(found, expected, "at height {height}");
        }
    }
}

/// What a view says of an owner, at the edges of buckets of numbers.
async fn pages(view: &impl AddressView, owner: PuzzleHash) -> Vec<String> {
    let mut said = vec![
        format!("{:?}", view.account(owner).await.unwrap()),
        format!("{:?}", view.balances(owner).await.unwrap()),
        format!("{:?}", view.nfts(owner, 1_000).await.unwrap()),
    ];
    for before in [1, 2, 100, 16_383, 16_384, 16_385, 16_386, 16_400, u64::MAX] {
        said.push(format!("{:?}", view.coins(owner, before, 20).await.unwrap()));
        said.push(format!("{:?}", view.items(owner, List::XchReceived, before, 20).await.unwrap()));
    }
    said
}

pub(crate) async fn across() {
    let (keyspace, folder) = (Keyspace::make(&address()).await, tempfile::tempdir().unwrap());
    let cql = keyspace.open(DEPTH).await;
    let embedded = Embedded::open(folder.path(), 8 << 20).unwrap();
    let embedded = EmbeddedAddressStore::open(&embedded, "simulator0", DUST_BELOW, DEPTH).unwrap();
    let owner = owners().next().unwrap();
    let partition = cql.partition_of(owner);
    let mut twins = Twins { cql, embedded, owner, partition, at: Position::START };
    for height in HEIGHTS {
        twins.grow(height).await;
    }
    twins.check().await;
    for height in [65_535, 32_768, 2] {
        twins.rewind(height).await;
        twins.check().await;
    }
    for height in [3, 40_000] {
        twins.grow(height).await;
    }
    twins.check().await;
    keyspace.drop().await;
}
