//! A chain on which one address has a million coins and another two hundred.

use mojoscan_chia::builder::{CoinSpend, Draft, Generator, Tip};
use mojoscan_domain::{Bytes32, Coin, Network, PuzzleHash};
use mojoscan_tests::wallet::{Pay, Wallet};
use mojoscan_tests::world::Built;

/// Coins of the one, and of the other.
pub(crate) const MANY: usize = 1_000_000;
pub(crate) const FEW: usize = 200;
/// Coins of a page. Each of the last two blocks that pay gives both addresses as many, so that a page is a block.
pub(crate) const PAGE: usize = 100;
/// Most coins a block gives.
const BLOCK: usize = 4_000;
/// Mojos of the smallest coin: none is dust.
const MOJOS: u64 = 10_000;

/// The chain.
pub(crate) struct Rich {
    tip: Tip,
    wallet: Wallet,
    /// Its blocks.
    pub(crate) blocks: Vec<Built>,
    /// The height of the block with the newest page of both.
    pub(crate) paged: u32,
    /// The one with many coins, and the one with few.
    pub(crate) many: PuzzleHash,
    pub(crate) few: PuzzleHash,
    /// The coins of both, with their heights.
    pub(crate) coins: Vec<(Coin, u32)>,
}

impl Rich {
    /// Builds it.
    pub(crate) fn new() -> Self {
        let mut wallet = Wallet::default();
        let (many, few) = (wallet.p2_hash(1), wallet.p2_hash(2));
        let tip = Tip::genesis(Network::Simulator0);
        let mut chain = Self { tip, wallet, blocks: vec![], paged: 0, many, few, coins: vec![] };
        let mut fuel = chain.fuel().into_iter();
        let mut left = MANY - FEW;
        while left > 0 {
            let count = left.min(BLOCK);
            left -= count;
            chain.pay(fuel.next().unwrap(), &[(many, count)]);
        }
        for _ in 0..FEW / PAGE {
            chain.pay(fuel.next().unwrap(), &[(many, PAGE), (few, PAGE)]);
        }
        chain.paged = chain.blocks.last().unwrap().id.height;
        chain
    }

    /// Adds an empty block.
    pub(crate) fn grow(&mut self) {
        self.extend(Generator::None);
    }

    /// The time of a block, in seconds since 1970.
    pub(crate) fn timestamp(height: u32) -> i64 {
        1_616_162_400 + i64::from(height) * 19
    }

    fn extend(&mut self, generator: Generator) -> Vec<Coin> {
        let farmer = self.wallet.p2_hash(0);
        let (block, tip) =
            self.tip.extend(&Draft { generator, farmer, pool: farmer, ..Draft::default() }).unwrap();
        self.tip = tip;
        self.blocks.push(Built { id: block.id(), bytes: block.to_bytes().unwrap() });
        block.rewards()
    }

    /// Coins that are spent to make the others.
    fn fuel(&mut self) -> Vec<Coin> {
        self.extend(Generator::None);
        let prefarm = self.extend(Generator::None)[0];
        let count = MANY.div_ceil(BLOCK) + FEW / PAGE;
        let owner = self.wallet.p2_hash(0);
        // each pays all that a block gives, and fees
        let enough = (MOJOS + BLOCK as u64) * BLOCK as u64;
        let pays: Vec<Pay> = (0..count as u64).map(|n| Pay::plain(owner, enough + n)).collect();
        let spend = self.wallet.pay(prefarm, 0, &pays);
        self.extend(Generator::Plain(vec![spend]));
        let coin = |pay: &Pay| Coin { parent: prefarm.id(), puzzle_hash: owner, amount: pay.amount };
        pays.iter().map(coin).collect()
    }

    /// A block in which one coin is spent to make many.
    fn pay(&mut self, coin: Coin, to: &[(Bytes32, usize)]) {
        let pays: Vec<Pay> = to
            .iter()
            .flat_map(|(to, count)| (0..*count as u64).map(|n| Pay::plain(*to, MOJOS + n)))
            .collect();
        // a wallet of its own, so that its heap does not grow for ever
        let spend: CoinSpend = Wallet::default().pay(coin, 0, &pays);
        self.extend(Generator::Plain(vec![spend]));
        let height = self.blocks.last().unwrap().id.height;
        let made = pays.iter().map(|pay| Coin { parent: coin.id(), puzzle_hash: pay.to, amount: pay.amount });
        self.coins.extend(made.map(|coin| (coin, height)));
    }
}
