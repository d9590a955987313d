//! What every store of addresses must do, whatever it is built on.
//!
//! Nothing here assumes that a commit is one atomic batch: only what the ports promise is asked for.

pub(crate) mod chain;
pub(crate) mod model;
pub(crate) mod subject;

use chain::owners;
use fastrand::Rng;
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use model::{Model, PROJECTION, Seen};
use mojoscan_address::projection::{Keys, List, Prior};
use mojoscan_address::store::{AddressStore, AddressView, ViewError};
use mojoscan_domain::{Bytes32, Digest, Position, PuzzleHash};
use mojoscan_pipeline::Projection;
use std::collections::BTreeMap;
use std::env;
use std::future::Future;
use subject::{Calls, Dump, Subject, normal, read};

pub(crate) use chain::DUST_BELOW;

/// An undo depth that no case but one reaches.
const DEEP: u32 = 1_000;
/// Steps of a random sequence.
const STEPS: usize = 30;
/// Random sequences.
const SEQUENCES: usize = 4;

/// Makes stores.
pub(crate) trait Make {
    /// What it makes.
    type Store: AddressStore;

    /// An empty store, for [`DUST_BELOW`], in which a rewind can go back `undo_depth` blocks below the source's peak.
    fn make(&self, undo_depth: u32) -> impl Future<Output = Self::Store>;
}

/// One case: a test of its own.
pub(crate) type Case<M> = for<'a> fn(&'a M) -> LocalBoxFuture<'a, ()>;

macro_rules! cases {
    ($($name:ident,)*) => {
        /// Every case, with its name.
        pub(crate) fn suite<M: Make>() -> Vec<(&'static str, Case<M>)> {
            vec![$((stringify!($name), |make| $name(make).boxed_local()),)*]
        }
    };
}

cases! {
    an_empty_store_has_nothing,
    what_is_committed_can_be_read,
    views_of_older_heights_are_those_taken_then,
    the_prior_state_is_that_of_the_position,
    a_repeated_commit_changes_nothing,
    a_rewind_leaves_exactly_what_there_was,
    a_repeated_rewind_changes_nothing,
    a_rewind_to_before_the_first_block_leaves_nothing,
    a_rewind_below_the_undo_depth_is_refused,
    watermarks_move_the_position,
    lists_are_paged_by_number,
    an_open_view_stays_true_or_says_that_it_moved,
    random_sequences_equal_a_rebuild,
}

async fn an_empty_store_has_nothing(make: &impl Make) {
    let subject = Subject::new(make.make(DEEP).await);
    subject.check().await;
    for (partition, at) in &subject.positions {
        assert_eq!(*at, Position::START);
        assert_eq!(subject.store.digest(*partition).await.unwrap(), (Position::START, Digest::EMPTY));
        let mut keys = Keys::default();
        keys.owners.extend(owners());
        keys.coins.extend(owners().map(|owner| (owner, Bytes32::ZERO)));
        keys.balances.extend(owners().map(|owner| (owner, Bytes32::ZERO)));
        assert_eq!(subject.load(*partition, *at, &keys).await, Prior::default());
        let too_high = subject.store.view(*partition, Some(0)).await.err();
        assert_eq!(too_high, Some(ViewError::TooHigh { asked: 0, reached: None }));
    }
}

async fn what_is_committed_can_be_read(make: &impl Make) {
    let (rng, mut subject) = (&mut seeded(), Subject::new(make.make(DEEP).await));
    subject.grow(1, rng).await;
    subject.check().await;
    subject.grow(40, rng).await;
    subject.check().await;
    let dump = subject.dump(None).await;
    let all = |part: fn(&Seen) -> usize| dump.values().map(part).sum::<usize>();
    // the random chain is worth asking about
    assert!(all(|seen| seen.balances.len()) > 0 && all(|seen| seen.nfts.len()) > 0);
    for list in List::ALL {
        assert!(dump.values().any(|seen| !seen.lists[list as usize].is_empty()), "{list:?}");
    }
    for (owner, seen) in &dump {
        let view = subject.store.view(subject.store.partition_of(*owner), None).await.unwrap();
        for (_, coin) in &seen.coins {
            assert!(view.holds(*owner, coin.id).await.unwrap());
            assert!(!view.holds(coin.id, coin.id).await.unwrap(), "nobody else holds it");
        }
        assert!(!view.holds(*owner, *owner).await.unwrap(), "there is no such coin");
        view.finish().await.unwrap();
    }
    // an owner nobody has heard of
    let stranger = Bytes32::new([0xee; 32]);
    let view = subject.store.view(subject.store.partition_of(stranger), None).await.unwrap();
    assert_eq!(read(&view, stranger).await.unwrap(), Seen::default());
    view.finish().await.unwrap();
}

async fn views_of_older_heights_are_those_taken_then(make: &impl Make) {
    let (rng, mut subject) = (&mut seeded(), Subject::new(make.make(DEEP).await));
    let mut taken: BTreeMap<u32, Dump> = BTreeMap::new();
    for blocks in [1, 1, 3, 1, 5, 1, 1, 2] {
        subject.grow(blocks, rng).await;
        let height = subject.chain.tip().unwrap().height;
        taken.insert(height, subject.dump(None).await);
    }
    for (height, dump) in &taken {
        assert_eq!(subject.dump(Some(*height)).await, *dump, "at height {height}");
    }
    // also heights that no watermark has named
    for height in 0..=subject.chain.tip().unwrap().height {
        subject.check_at(height).await;
    }
}

async fn the_prior_state_is_that_of_the_position(make: &impl Make) {
    let (rng, mut subject) = (&mut seeded(), Subject::new(make.make(DEEP).await));
    subject.grow(12, rng).await;
    let before = subject.positions.clone();
    subject.grow(4, rng).await;
    let (older, newer) = subject.chain.blocks.split_at(12);
    for (partition, at) in &before {
        let keys = PROJECTION.keys(&subject.events(*partition, newer));
        let model = Model::of(older, |owner| subject.store.partition_of(owner) == *partition);
        // what a crash has left above the position is not there
        assert_eq!(subject.load(*partition, *at, &keys).await, normal(model.prior(&keys)));
    }
    let newer = newer.to_vec();
    subject.rewind(Calls::Once, Some(11)).await;
    for (partition, at) in &subject.positions {
        let keys = PROJECTION.keys(&subject.events(*partition, &newer));
        let model = Model::of(&subject.chain.blocks, |owner| subject.store.partition_of(owner) == *partition);
        assert_eq!(subject.load(*partition, *at, &keys).await, normal(model.prior(&keys)));
    }
}

async fn a_repeated_commit_changes_nothing(make: &impl Make) {
    let (rng, mut subject) = (&mut seeded(), Subject::new(make.make(DEEP).await));
    for blocks in [1, 4, 1, 2, 6] {
        subject.grow_calling(Calls::Twice, blocks, rng).await;
        subject.check().await;
    }
    subject.commit(Calls::Twice, &[]).await;
    subject.check().await;
    for height in 0..=subject.chain.tip().unwrap().height {
        subject.check_at(height).await;
    }
    // nor does it stand in the way of a rewind
    subject.rewind(Calls::Once, Some(5)).await;
    subject.check().await;
}

async fn a_rewind_leaves_exactly_what_there_was(make: &impl Make) {
    let (rng, mut subject) = (&mut seeded(), Subject::new(make.make(DEEP).await));
    let mut taken: Vec<(u32, Dump)> = vec![];
    for blocks in [2, 1, 3, 1, 1, 4, 2] {
        subject.grow(blocks, rng).await;
        let height = subject.chain.tip().unwrap().height;
        taken.push((height, subject.dump(None).await));
    }
    let all = subject.chain.blocks.clone();
    let full = taken.last().unwrap().1.clone();
    for (height, dump) in taken.iter().rev() {
        subject.rewind(Calls::Once, Some(*height)).await;
        assert_eq!(subject.dump(None).await, *dump, "rewound to height {height}");
        subject.check().await;
        subject.check_at(height / 2).await;
        // and the same blocks again lead to the same rows
        let again = all[*height as usize + 1..].to_vec();
        if !again.is_empty() {
            subject.chain.blocks.extend_from_slice(&again);
            subject.commit(Calls::Once, &again).await;
        }
        assert_eq!(subject.dump(None).await, full, "committed anew from height {height}");
        subject.check().await;
    }
    // down the whole chain, watermark by watermark
    for (height, dump) in taken.iter().rev() {
        subject.rewind(Calls::Once, Some(*height)).await;
        assert_eq!(subject.dump(None).await, *dump, "rewound once more to height {height}");
        subject.check().await;
    }
}

async fn a_repeated_rewind_changes_nothing(make: &impl Make) {
    let (rng, mut subject) = (&mut seeded(), Subject::new(make.make(DEEP).await));
    subject.grow(6, rng).await;
    subject.grow(6, rng).await;
    for height in [Some(9), Some(5), Some(2)] {
        subject.rewind(Calls::Twice, height).await;
        subject.check().await;
        subject.grow(2, rng).await;
        subject.check().await;
    }
}

async fn a_rewind_to_before_the_first_block_leaves_nothing(make: &impl Make) {
    let (rng, mut subject) = (&mut seeded(), Subject::new(make.make(DEEP).await));
    for round in 0..3 {
        subject.grow(3 + round, rng).await;
        subject.rewind(Calls::Twice, None).await;
        subject.check().await;
        for partition in subject.positions.keys() {
            assert_eq!(subject.store.digest(*partition).await.unwrap().1, Digest::EMPTY);
        }
    }
    subject.grow(5, rng).await;
    subject.check().await;
}

async fn a_rewind_below_the_undo_depth_is_refused(make: &impl Make) {
    let (rng, mut subject) = (&mut seeded(), Subject::new(make.make(6).await));
    for blocks in [1, 4, 3, 5, 2, 5] {
        subject.grow(blocks, rng).await;
    }
    let tip = subject.chain.tip().unwrap().height;
    for height in [0, tip / 2] {
        let oldest = subject.refused_rewind(height).await;
        assert!(oldest > height && oldest <= tip - 6, "{oldest} of {tip}");
        // nothing has happened
        subject.check().await;
    }
    // what it says it can do it can
    let oldest = subject.refused_rewind(0).await;
    subject.rewind(Calls::Once, Some(oldest)).await;
    subject.check().await;
    subject.grow(3, rng).await;
    subject.check().await;
}

async fn watermarks_move_the_position(make: &impl Make) {
    let (rng, mut subject) = (&mut seeded(), Subject::new(make.make(DEEP).await));
    subject.grow(3, rng).await;
    let before = subject.dump(None).await;
    for _ in 0..3 {
        // the chain was heard from and has not grown
        subject.commit(Calls::Once, &[]).await;
        assert_eq!(subject.dump(None).await, before);
        subject.check().await;
    }
    subject.rewind(Calls::Once, Some(1)).await;
    subject.commit(Calls::Once, &[]).await;
    subject.check().await;
    subject.grow(2, rng).await;
    subject.check().await;
    let tip = subject.chain.tip().unwrap();
    for partition in subject.positions.keys() {
        let view = subject.store.view(*partition, Some(tip.height)).await.unwrap();
        assert_eq!(view.position().block, Some(tip));
        view.finish().await.unwrap();
        for asked in [tip.height + 1, u32::MAX] {
            let too_high = subject.store.view(*partition, Some(asked)).await.err();
            assert_eq!(too_high, Some(ViewError::TooHigh { asked, reached: Some(tip.height) }));
        }
    }
}

async fn lists_are_paged_by_number(make: &impl Make) {
    let (rng, mut subject) = (&mut seeded(), Subject::new(make.make(DEEP).await));
    subject.grow(30, rng).await;
    let tip = subject.chain.tip().unwrap().height;
    for height in [tip, tip / 2] {
        for (owner, seen) in subject.expected(Some(height)) {
            let view = subject.store.view(subject.store.partition_of(owner), Some(height)).await.unwrap();
            for count in [1, 3, 7] {
                pages_of(&view, owner, count, &seen).await;
            }
            // rows are numbered from 1
            for (before, count) in [(0, 9), (1, 9), (u64::MAX, 0)] {
                assert_eq!(view.coins(owner, before, count).await.unwrap(), []);
                assert_eq!(view.items(owner, List::XchReceived, before, count).await.unwrap(), []);
            }
            assert_eq!(view.nfts(owner, 0).await.unwrap(), []);
            view.finish().await.unwrap();
        }
    }
}

/// Walks every list of an owner in pages of so many rows.
async fn pages_of(view: &impl AddressView, owner: PuzzleHash, count: usize, seen: &Seen) {
    for list in List::ALL {
        let pages = async |before| view.items(owner, list, before, count).await.unwrap();
        assert_eq!(walk(count, pages).await, seen.lists[list as usize], "{list:?} by {count}");
    }
    let pages = async |before| view.coins(owner, before, count).await.unwrap();
    assert_eq!(walk(count, pages).await, seen.coins, "coins by {count}");
    let nfts = view.nfts(owner, count).await.unwrap();
    assert_eq!(nfts, seen.nfts[..count.min(seen.nfts.len())]);
}

/// Every row, page by page.
async fn walk<T>(count: usize, mut page: impl AsyncFnMut(u64) -> Vec<(u64, T)>) -> Vec<(u64, T)> {
    let (mut all, mut before) = (vec![], u64::MAX);
    loop {
        let rows = page(before).await;
        assert!(rows.len() <= count);
        let Some((last, _)) = rows.last() else { return all };
        before = *last;
        all.extend(rows);
    }
}

async fn an_open_view_stays_true_or_says_that_it_moved(make: &impl Make) {
    for rewinds in [false, true] {
        let (rng, mut subject) = (&mut seeded(), Subject::new(make.make(DEEP).await));
        subject.grow(10, rng).await;
        for height in [None, Some(9), Some(4)] {
            let tip = subject.chain.tip().map(|block| block.height);
            let then = subject.expected(height.or(tip));
            let mut views = vec![];
            for (owner, seen) in then {
                let view = subject.store.view(subject.store.partition_of(owner), height).await.unwrap();
                // half of what is read from it is read now
                assert_eq!(view.account(owner).await.unwrap(), seen.account);
                views.push((owner, seen, view));
            }
            if rewinds {
                subject.rewind(Calls::Once, Some(6)).await;
            }
            subject.grow(4, rng).await;
            for (owner, seen, view) in views {
                let found = read(&view, owner).await;
                match (found, view.finish().await) {
                    (Ok(found), Ok(())) => assert_eq!(found, seen),
                    (Err(ViewError::Moved), _) | (_, Err(ViewError::Moved)) => assert!(rewinds),
                    other => panic!("{other:?}"),
                }
            }
            subject.check().await;
        }
    }
}

async fn random_sequences_equal_a_rebuild(make: &impl Make) {
    for rng in &mut seeds(SEQUENCES) {
        let mut subject = Subject::new(make.make(DEEP).await);
        for _ in 0..STEPS {
            let calls = if rng.u8(..4) == 0 { Calls::Twice } else { Calls::Once };
            let tip = subject.chain.tip();
            match (rng.u8(..10), tip) {
                (0..=2, Some(tip)) => {
                    // to a block that a watermark has named or not, now and then to before the first
                    let height = rng.u32(..=tip.height + 1).checked_sub(1);
                    subject.rewind(calls, height.filter(|height| *height < tip.height)).await;
                }
                (3, Some(_)) => subject.commit(calls, &[]).await,
                _ => {
                    let blocks = rng.usize(1..6);
                    subject.grow_calling(calls, blocks, rng).await;
                }
            }
            subject.check().await;
            if let Some(tip) = subject.chain.tip() {
                subject.check_at(rng.u32(..=tip.height)).await;
            }
        }
        // another store that has seen nothing but the final chain
        let mut clean = Subject::new(make.make(DEEP).await);
        clean.chain = subject.chain.clone();
        let blocks = subject.chain.blocks.clone();
        for run in blocks.chunks(3) {
            clean.commit(Calls::Once, run).await;
        }
        assert_eq!(clean.dump(None).await, subject.dump(None).await);
        for partition in subject.positions.keys() {
            let digest = subject.store.digest(*partition).await.unwrap().1;
            assert_eq!(clean.store.digest(*partition).await.unwrap().1, digest);
        }
    }
}

/// Random numbers by a seed that is printed.
fn seeded() -> Rng {
    seeds(1).remove(0)
}

/// Random numbers by seeds that are printed: `MOJOSCAN_SEED` alone if it is set.
fn seeds(count: usize) -> Vec<Rng> {
    let given: Option<u64> = env::var("MOJOSCAN_SEED").ok().map(|text| text.parse().unwrap());
    let new = || (0..count).map(|_| fastrand::u64(..)).collect();
    let seeds: Vec<u64> = given.map_or_else(new, |seed| vec![seed]);
    let begun = |seed: u64| {
        eprintln!("MOJOSCAN_SEED={seed}");
        Rng::with_seed(seed)
    };
    seeds.into_iter().map(begun).collect()
}
