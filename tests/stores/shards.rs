//! Answers over several shards, of which some have seen a reorg and some have not.

use crate::Keyspace;
use crate::address;
use crate::conformance::chain::owners;
use crate::conformance::subject::Subject;
use crate::crashes::{Commit, DEEP, rng};
use mojoscan_address::rpc::AddressRpc;
use mojoscan_address::store::AddressStore;
use mojoscan_address::store::scylla::ScyllaAddressStore;
use mojoscan_domain::PuzzleHash;
use mojoscan_pipeline::runner::ProgressMap;
use mojoscan_pipeline::{Partition, Store as _};
use mojoscan_proto::address::v1::GetBalancesRequest;
use mojoscan_proto::address::v1::address_service_server::AddressService;
use tokio::sync::watch;
use tonic::{Code, Request};

/// The height at which an answer about these owners is true.
async fn height(store: &ScyllaAddressStore, owners: [PuzzleHash; 2]) -> Result<u32, Code> {
    let rpc = AddressRpc::new(store.clone(), watch::channel(ProgressMap::new()).1);
    let owners = owners.map(|owner| owner.as_slice().to_vec()).into();
    let answer = rpc.get_balances(Request::new(GetBalancesRequest { owners, at: None, cats: false })).await;
    let as_of = answer.map_err(|status| status.code())?.into_inner().as_of.unwrap();
    Ok(as_of.block.unwrap().height)
}

/// Has one partition undo what the chain has left, which is all above a height.
async fn rewind(subject: &mut Subject<ScyllaAddressStore>, partition: Partition, to: u32) {
    let at = subject.positions[&partition];
    let to = subject.rewound(at, Some(to));
    subject.store.rewind(partition, at, to).await.unwrap();
    subject.positions.insert(partition, to);
}

/// Has one partition apply the blocks above a height, as one batch.
async fn apply(subject: &mut Subject<ScyllaAddressStore>, partition: Partition, above: u32) {
    let blocks = subject.chain.blocks[above as usize + 1..].to_vec();
    let commits = Commit::of(subject, &blocks);
    let commit = commits.iter().find(|commit| commit.partition == partition).unwrap();
    commit.run(&subject.store).await.unwrap();
    subject.positions.insert(partition, commit.to);
}

pub(crate) async fn one_chain() {
    let keyspace = Keyspace::make(&address()).await;
    let (mut subject, mut rng) = (Subject::new(keyspace.open(DEEP).await), rng());
    for _ in 0..9 {
        subject.grow(1, &mut rng).await;
    }
    let store = subject.store.clone();
    let one = owners().next().unwrap();
    let other = owners().find(|owner| store.partition_of(*owner) != store.partition_of(one)).unwrap();
    let (ahead, behind) = (store.partition_of(one), store.partition_of(other));
    let tip = subject.chain.tip().unwrap().height;
    let fork = tip - 2;
    assert_eq!(height(&store, [one, other]).await, Ok(tip));
    subject.chain.cut(Some(fork));
    rewind(&mut subject, ahead, fork).await;
    // both have the block at which the chains part
    assert_eq!(height(&store, [one, other]).await, Ok(fork));
    for _ in 0..3 {
        subject.chain.grow(&mut rng);
    }
    apply(&mut subject, ahead, fork).await;
    // no watermark has named the new chain's block where the old one's tip is, so that only the epochs differ
    assert_eq!(height(&store, [one, other]).await, Err(Code::Unavailable));
    assert_eq!(height(&store, [other, one]).await, Err(Code::Unavailable));
    rewind(&mut subject, behind, fork).await;
    assert_eq!(height(&store, [one, other]).await, Ok(fork));
    apply(&mut subject, behind, fork).await;
    assert_eq!(height(&store, [one, other]).await, Ok(tip + 1));
    keyspace.drop().await;
}
