#![allow(missing_docs, clippy::all, clippy::unwrap_used, clippy::panic, clippy::pedantic)]
use chia_consensus::additions_and_removals::additions_and_removals;
use chia_consensus::consensus_constants::TEST_CONSTANTS;
use chia_consensus::flags::ConsensusFlags;
use mojoscan_chia::builder::{Draft, Generator, Tip};
use mojoscan_chia::{Block, Limits, decode};
use mojoscan_domain::Network;
use std::time::Duration;
fn now() -> Duration { std::thread::yield_now(); Duration::from_nanos(std::fs::read_to_string("/proc/thread-self/schedstat").unwrap().split_whitespace().next().unwrap().parse().unwrap()) }
fn hex(t: &str) -> Vec<u8> {
    (0..t.len() / 2).map(|i| u8::from_str_radix(&t[2 * i..2 * i + 2], 16).unwrap()).collect()
}
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (which, rounds) = (args[0].as_str(), args[1].parse::<usize>().unwrap());
    for name in &args[2..] {
        let dir = "/work/shared/data/generators/";
        let (program, refs): (Vec<u8>, Vec<Vec<u8>>) = if name == "mixed-0" {
            (std::fs::read(format!("{dir}{name}.generator")).unwrap(), vec![])
        } else {
            let t = std::fs::read_to_string(format!("{dir}{name}.txt")).unwrap();
            let env = std::fs::read_to_string(format!("{dir}{name}.env")).map(|t| vec![hex(t.trim())]).unwrap_or_default();
            (hex(t.split_once('\n').unwrap().0), env)
        };
        let (_, tip) = Tip::genesis(Network::Simulator0).extend(&Draft::default()).unwrap();
        let generator = Generator::Program { program: program.clone(), references: (0..).zip(refs.clone()).collect() };
        let (block, _) = tip.extend(&Draft { generator, ..Draft::default() }).unwrap();
        let bytes = block.to_bytes().unwrap();
        let (mut a, mut b) = (Duration::MAX, Duration::MAX);
        for _ in 0..rounds {
            if which != "bare" {
                let s = now();
                let block = Block::from_bytes(&bytes).unwrap();
                let d = decode(&block, &refs, Limits::default()).unwrap();
                std::hint::black_box(d.events.into_coin_events());
                a = a.min(now() - s);
            }
            if which != "ours" {
                let s = now();
                std::hint::black_box(additions_and_removals(&program, &refs, ConsensusFlags::DONT_VALIDATE_SIGNATURE, &TEST_CONSTANTS).unwrap());
                b = b.min(now() - s);
            }
        }
        println!("{name}: ours {a:?} bare {b:?} ratio {:.3}", b.as_secs_f64() / a.as_secs_f64());
    }
}
