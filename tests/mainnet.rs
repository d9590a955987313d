//! Real content: what the decoder reads equals what consensus code reads, coin by coin, and what is known to be in it,
//! kind by kind.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

use chia_consensus::additions_and_removals::additions_and_removals;
use chia_consensus::consensus_constants::TEST_CONSTANTS;
use chia_consensus::flags::ConsensusFlags;
use chia_consensus::solution_generator::solution_generator;
use chia_protocol::{Coin as ChiaCoin, SpendBundle};
use chia_traits::Streamable;
use mojoscan_chia::{Events, Limits, decode_bundle, decode_generator};
use mojoscan_domain::record::PuzzleName;
use mojoscan_domain::{Bytes32, Coin, Kind};
use mojoscan_tests::data::{self, files, generators};
use mojoscan_tests::trial::{self, Need};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let need = Need { name: "real-data", missing: data::missing(), in_ci: false };
    trial::run(
        &need,
        &[
            ("generators_decode_as_consensus_reads_them", generators_as_consensus),
            ("generators_reveal_the_kinds_known_to_be_in_them", generators_reveal),
            ("bundles_decode_as_consensus_reads_them", bundles),
            ("coins_spent_in_their_own_block_reveal_the_kind_they_were_created_as", created_as_revealed),
            ("full_blocks_decode_with_their_roots", full_blocks),
            ("a_damaged_full_block_is_named_and_the_others_are_printed", damaged_full_block),
            ("a_reference_that_is_not_given_is_named", missing_reference),
        ],
    );
}

type Counts = &'static [(PuzzleName, usize)];

/// What each generator reveals: spends by outermost known puzzle.
const REVEALED: &[(&str, Counts)] = {
    use PuzzleName::{
        Cat1, Cat2, Did, Launcher, Nft, NftIntermediateLauncher, P2DelegatedConditions, P2Parent,
        P2SingletonOrDelayed, PoolMember, PoolWaitingRoom, Settlement, Singleton, Standard, Unknown,
    };
    &[
        ("block-1ee588dc", &[(Standard, 514), (PoolMember, 1), (P2SingletonOrDelayed, 1)]),
        ("block-225758", &[(Standard, 10)]),
        ("block-4671894", &[(Standard, 532)]),
        ("block-834752", &[(PoolMember, 3), (PoolWaitingRoom, 3)]),
        ("block-834752-compressed", &[(PoolMember, 3), (PoolWaitingRoom, 3)]),
        ("block-834760", &[(Standard, 16), (PoolMember, 10), (PoolWaitingRoom, 14)]),
        ("block-834761", &[(Standard, 17), (PoolWaitingRoom, 1), (Launcher, 1)]),
        ("block-834766", &[(Standard, 26), (PoolMember, 4), (PoolWaitingRoom, 6), (Launcher, 1)]),
        (
            "block-834768",
            &[(Unknown, 2), (Standard, 68), (PoolMember, 3), (PoolWaitingRoom, 1), (Launcher, 1)],
        ),
        ("block-b45268ac", &[(Standard, 489), (Cat2, 3)]),
        ("block-c2a8df0d", &[(Standard, 578), (Cat2, 5), (PoolMember, 1), (P2SingletonOrDelayed, 1)]),
        (
            "block-e5002df2",
            &[(Standard, 484), (Nft, 1), (Did, 2), (PoolMember, 3), (Launcher, 2), (P2SingletonOrDelayed, 3)],
        ),
        (
            "mixed-0",
            &[
                (Unknown, 12),
                (Standard, 388),
                (Cat2, 115),
                (Cat1, 3),
                (Nft, 36),
                (Did, 4),
                (PoolMember, 41),
                (PoolWaitingRoom, 11),
                (Singleton, 6),
                (Launcher, 28),
                (NftIntermediateLauncher, 25),
                (Settlement, 11),
                (P2SingletonOrDelayed, 43),
                (P2DelegatedConditions, 12),
                (P2Parent, 1),
            ],
        ),
    ]
};

/// What the bundles reveal together.
const BUNDLES_REVEAL: Counts = &[
    (PuzzleName::Standard, 555),
    (PuzzleName::Cat2, 11),
    (PuzzleName::Cat1, 1),
    (PuzzleName::Nft, 27),
    (PuzzleName::Did, 2),
    (PuzzleName::PoolMember, 7),
    (PuzzleName::PoolWaitingRoom, 23),
    (PuzzleName::Launcher, 2),
    (PuzzleName::P2SingletonOrDelayed, 29),
];

fn folder() -> PathBuf {
    data::folder().unwrap()
}

fn revealed(events: &Events) -> BTreeMap<PuzzleName, usize> {
    let mut kinds = BTreeMap::new();
    for spent in &events.spent {
        *kinds.entry(spent.first.puzzle).or_default() += 1;
    }
    kinds
}

/// A coin, and its hint.
type Hinted = ((Bytes32, Bytes32, u64), Option<Vec<u8>>);

/// Fails unless the events have the additions, hints included, and removals that consensus code finds.
fn as_consensus(name: &str, events: &Events, generator: &[u8], references: &[Vec<u8>]) {
    let flags = ConsensusFlags::DONT_VALIDATE_SIGNATURE;
    let (additions, removals) =
        additions_and_removals(generator, references, flags, &TEST_CONSTANTS).unwrap();
    let expected: BTreeSet<_> = additions
        .iter()
        .map(|(made, hint)| (key(&coin(made)), hint.as_ref().map(|hint| hint.as_ref().to_vec())))
        .collect();
    // consensus takes a first memo of 32 bytes as the hint
    let found: BTreeSet<_> = events
        .created
        .iter()
        .map(|created| (key(&created.coin), created.memos.items.first().filter(|m| m.len() <= 32).cloned()))
        .collect();
    let same_coins = |set: &BTreeSet<Hinted>| set.iter().map(|(coin, _)| *coin).collect::<BTreeSet<_>>();
    assert_eq!(same_coins(&found), same_coins(&expected), "{name}: additions");
    let hints = |set: &BTreeSet<Hinted>| {
        set.iter()
            .filter(|(_, hint)| hint.as_ref().is_some_and(|hint| hint.len() == 32))
            .cloned()
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(hints(&found), hints(&expected), "{name}: hints");
    let expected: BTreeSet<_> = removals.iter().map(|(_, spent)| key(&coin(spent))).collect();
    let found: BTreeSet<_> = events.spent.iter().map(|spent| key(&spent.first.coin)).collect();
    assert_eq!(found, expected, "{name}: removals");
    assert_eq!(events.created.len(), additions.len(), "{name}");
    assert_eq!(events.spent.len(), removals.len(), "{name}");
}

fn key(coin: &Coin) -> (Bytes32, Bytes32, u64) {
    (coin.parent, coin.puzzle_hash, coin.amount)
}

fn coin(coin: &ChiaCoin) -> Coin {
    let bytes = |bytes: chia_protocol::Bytes32| Bytes32::new(bytes.to_bytes());
    Coin { parent: bytes(coin.parent_coin_info), puzzle_hash: bytes(coin.puzzle_hash), amount: coin.amount }
}

fn generators_as_consensus() {
    for generator in generators(&folder()) {
        let (events, _) =
            decode_generator(&generator.program, &generator.references, Limits::default()).unwrap();
        as_consensus(&generator.name, &events, &generator.program, &generator.references);
    }
}

fn generators_reveal() {
    let generators = generators(&folder());
    assert_eq!(generators.len(), REVEALED.len());
    for (name, expected) in REVEALED {
        let generator = generators.iter().find(|generator| generator.name == *name).unwrap();
        let (events, _) =
            decode_generator(&generator.program, &generator.references, Limits::default()).unwrap();
        assert_eq!(revealed(&events), expected.iter().copied().collect(), "{name}");
    }
}

fn bundles() {
    let files = files(&folder().join("bundles"), &["bundle"]);
    assert_eq!(files.len(), 46);
    let mut kinds: BTreeMap<PuzzleName, usize> = BTreeMap::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = fs::read(&path).unwrap();
        let (events, _) = decode_bundle(&bytes, Limits::default()).unwrap();
        let bundle = SpendBundle::from_bytes(&bytes).unwrap();
        let spends =
            bundle.coin_spends.iter().map(|spend| (spend.coin, &spend.puzzle_reveal, &spend.solution));
        let generator = solution_generator(spends).unwrap();
        as_consensus(&name, &events, &generator, &[]);
        for (puzzle, count) in revealed(&events) {
            *kinds.entry(puzzle).or_default() += count;
        }
    }
    assert_eq!(kinds, BUNDLES_REVEAL.iter().copied().collect());
}

/// A coin's kind is settled by its parent's spend. Where the coin is spent in the same block, what that spend reveals
/// must be a puzzle of that kind; only an eve coin, which its parent cannot prove, may reveal more.
fn created_as_revealed() {
    let mut seen: BTreeMap<(Kind, PuzzleName), usize> = BTreeMap::new();
    for generator in generators(&folder()) {
        let (events, _) =
            decode_generator(&generator.program, &generator.references, Limits::default()).unwrap();
        let kinds: HashMap<Bytes32, Kind> =
            events.created.iter().map(|created| (created.id, created.asset.kind)).collect();
        for spent in &events.spent {
            if let Some(kind) = kinds.get(&spent.first.id) {
                *seen.entry((*kind, spent.first.puzzle)).or_default() += 1;
            }
        }
    }
    for (kind, puzzle) in seen.keys() {
        let right = match kind {
            Kind::Cat => matches!(puzzle, PuzzleName::Cat1 | PuzzleName::Cat2),
            Kind::Nft => *puzzle == PuzzleName::Nft,
            Kind::Did => *puzzle == PuzzleName::Did,
            Kind::Singleton => {
                matches!(puzzle, PuzzleName::Singleton | PuzzleName::PoolMember | PuzzleName::PoolWaitingRoom)
            }
            Kind::Settlement => *puzzle == PuzzleName::Settlement,
            Kind::Standard => *puzzle != PuzzleName::Settlement,
        };
        assert!(right, "created as {kind}, revealed {puzzle}: {seen:?}");
    }
    for kind in [Kind::Standard, Kind::Cat, Kind::Singleton, Kind::Settlement] {
        assert!(seen.keys().any(|(found, _)| *found == kind), "no {kind} among {seen:?}");
    }
}

/// Height, coins created, rewards among them, coins spent, fees.
const FULL_BLOCKS: [(u32, usize, u64, usize, u64); 5] = [
    (300_000, 0, 0, 0, 0),
    (442_734, 52, 4, 1, 1_000_000),
    (466_212, 810, 2, 517, 0),
    (1_315_537, 3, 10, 2, 0),
    (1_315_630, 2, 6, 2, 10_000_000_000),
];

fn decode(files: &[PathBuf]) -> (Option<i32>, Vec<Value>, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_mojoscan-service")).arg("decode").args(files).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let records = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (output.status.code(), records, String::from_utf8(output.stderr).unwrap())
}

fn full_block(height: u32) -> PathBuf {
    folder().join("fullblocks").join(format!("{height}.fullblock"))
}

fn full_blocks() {
    let files: Vec<PathBuf> = FULL_BLOCKS.iter().map(|block| full_block(block.0)).collect();
    let (code, records, errors) = decode(&files);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    for (height, additions, rewards, removals, fees) in FULL_BLOCKS {
        let of = |event: &str| -> Vec<&Value> {
            records.iter().filter(|r| r["height"] == height && r["event"] == event).collect()
        };
        let [header] = of("block")[..] else { panic!("block {height} is not there once") };
        assert_eq!(header["fees"], fees, "{height}");
        let created = of("coin_created");
        let paid = created.iter().filter(|created| created["sender"].is_null()).count();
        assert_eq!((created.len(), paid as u64), (additions + rewards as usize, rewards), "{height}");
        assert_eq!(of("coin_spent").len(), removals, "{height}");
        let indices: BTreeSet<u64> = records
            .iter()
            .filter(|r| r["height"] == height && r["event"] != "block")
            .map(|r| r["index"].as_u64().unwrap())
            .collect();
        assert_eq!(indices.len(), additions + rewards as usize + removals, "{height}");
    }
    let cats = records.iter().filter(|r| r["puzzle"] == "cat2").count();
    assert_eq!(cats, 2);
}

/// Byte by byte through a block: whatever is changed, either the block is refused, or it is another block, or what was
/// changed is a proof, which says nothing of coins.
fn damaged_full_block() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (full_block(1_315_537), folder.path().join("bad.fullblock"));
    let bytes = fs::read(&good).unwrap();
    let (_, expected, _) = decode(std::slice::from_ref(&good));
    for at in (0..bytes.len()).step_by(bytes.len() / 25) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        fs::write(&bad, damaged).unwrap();
        let (code, records, errors) = decode(&[bad.clone(), good.clone()]);
        if code == Some(65) {
            assert_eq!(records, expected, "byte {at}");
            assert!(errors.lines().next().unwrap().starts_with(bad.to_str().unwrap()), "{errors}");
        } else {
            assert_eq!(code, Some(0), "byte {at}: {errors}");
            harmless(&records, &expected, at);
        }
    }
    fs::write(&bad, &bytes[..bytes.len() - 1]).unwrap();
    let (code, records, errors) = decode(&[bad, good]);
    assert_eq!((code, records), (Some(65), expected), "{errors}");
}

fn harmless(records: &[Value], expected: &[Value], at: usize) {
    let (changed, same) = records.split_at(records.len() - expected.len());
    assert_eq!(same, expected, "byte {at}");
    let hash = |records: &[Value]| records[0]["header_hash"].clone();
    assert!(changed == expected || hash(changed) != hash(expected), "byte {at}");
}

fn missing_reference() {
    let (code, records, errors) = decode(&[full_block(466_212)]);
    assert_eq!((code, records.len()), (Some(65), 0));
    assert!(errors.contains("466212.fullblock") && errors.contains("refers"), "{errors}");
    let copied = |path: &Path, to: &Path| {
        fs::copy(path, to).unwrap();
    };
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.fullblock"), folder.path().join("b.fullblock"));
    copied(&full_block(466_212), &a);
    copied(&full_block(442_734), &b);
    assert_eq!(decode(&[a, b]).0, Some(0));
}
