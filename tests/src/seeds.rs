//! Seeds for random tests.

use std::env;

/// Seeds to try, each printed as it is begun: `MOJOSCAN_SEED` alone if it is set, otherwise new ones, as many as
/// `MOJOSCAN_SEEDS` says or else `count`.
pub fn some(count: usize) -> impl Iterator<Item = u64> {
    let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seeds = match number("MOJOSCAN_SEED") {
        Some(seed) => vec![seed],
        None => {
            let count = number("MOJOSCAN_SEEDS").map_or(count, |count| usize::try_from(count).unwrap());
            (0..count).map(|_| fastrand::u64(..)).collect()
        }
    };
    seeds.into_iter().inspect(|seed| eprintln!("MOJOSCAN_SEED={seed}"))
}
