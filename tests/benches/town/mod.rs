//! A town whose people pay each other XCH and CATs, block after block, as a seed has it.

use fastrand::Rng;
use mojoscan_chia::builder::{CoinSpend, Draft, Generator, Tip};
use mojoscan_domain::{Bytes32, Coin, Network, PuzzleHash};
use mojoscan_ingestor::source::recording::RecordingWriter;
use mojoscan_tests::wallet::{Inner, Lineage, Pay, Wallet};
use mojoscan_tests::world::Built;
use std::collections::VecDeque;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// People; each has one address.
const PEOPLE: u32 = 2_000;
/// Coins that everything begins with, of as many mojos and a few.
const COINS: u32 = 1_000;
const MOJOS: u64 = 1_000_000_000_000;
/// One in so many of them becomes a CAT coin.
const CAT_SHARE: u32 = 5;
/// The number of the TAIL of the only CAT.
const TAIL: u32 = 0;

/// The end of a chain, and who has what there.
pub(crate) struct Town {
    tip: Tip,
    rng: Rng,
    things: VecDeque<Thing>,
    people: Vec<PuzzleHash>,
}

/// A coin that somebody has; a CAT coin with its lineage.
struct Thing {
    coin: Coin,
    owner: u32,
    cat: Option<Lineage>,
}

impl Town {
    /// A new town, and the blocks that gave its people their coins.
    pub(crate) fn found(seed: u64) -> (Self, Vec<Built>) {
        let mut wallet = Wallet::default();
        let people = (0..PEOPLE).map(|owner| wallet.p2_hash(owner)).collect();
        let tip = Tip::genesis(Network::Simulator0);
        let mut town = Self { tip, rng: Rng::with_seed(seed), things: VecDeque::new(), people };
        let founder = Draft { farmer: town.people[0], pool: town.people[0], ..Draft::default() };
        let mut blocks = vec![town.extend(&founder).0];
        let (block, rewards) = town.extend(&founder);
        blocks.push(block);
        let shares =
            (0..COINS).map(|n| Pay::plain(town.people[n as usize], MOJOS + u64::from(n))).collect::<Vec<_>>();
        let gift = wallet.pay(rewards[0], 0, &shares);
        blocks
            .push(town.extend(&Draft { generator: Generator::Compressed(vec![gift]), ..founder.clone() }).0);
        let coins = (0..).zip(&shares).map(|(owner, share)| {
            let coin = Coin { parent: rewards[0].id(), puzzle_hash: share.to, amount: share.amount };
            Thing { coin, owner, cat: None }
        });
        let (issued, kept): (Vec<_>, Vec<_>) = coins.partition(|thing| thing.owner.is_multiple_of(CAT_SHARE));
        let spends = issued.iter().flat_map(|thing| town.issue(&mut wallet, thing)).collect();
        blocks.push(town.extend(&Draft { generator: Generator::Compressed(spends), ..founder }).0);
        town.things.extend(kept);
        town.rng.shuffle(town.things.make_contiguous());
        (town, blocks)
    }

    /// The next block: so many coins that were not moved for longest are split, a part for somebody else; without
    /// `transaction`, a block that has none.
    pub(crate) fn grow(&mut self, spends: usize, transaction: bool) -> Built {
        let mut wallet = Wallet::default();
        let moved: Vec<Thing> = self.things.drain(..spends.min(self.things.len())).collect();
        let spends: Vec<CoinSpend> = moved.iter().map(|thing| self.split(&mut wallet, thing)).collect();
        let generator = if spends.is_empty() { Generator::None } else { Generator::Compressed(spends) };
        let (farmer, pool) = (self.anyone().1, self.anyone().1);
        self.extend(&Draft { generator, transaction, farmer, pool, ..Draft::default() }).0
    }

    fn extend(&mut self, draft: &Draft) -> (Built, Vec<Coin>) {
        let (block, tip) = self.tip.extend(draft).unwrap();
        self.tip = tip;
        (Built { id: block.id(), bytes: block.to_bytes().unwrap() }, block.rewards())
    }

    fn anyone(&mut self) -> (u32, PuzzleHash) {
        let owner = self.rng.u32(..PEOPLE);
        (owner, self.people[owner as usize])
    }

    fn split(&mut self, wallet: &mut Wallet, thing: &Thing) -> CoinSpend {
        let own = self.people[thing.owner as usize];
        let (to, other) = loop {
            let found = self.anyone();
            if found.0 != thing.owner {
                break found;
            }
        };
        let part = self.rng.u64(..=thing.coin.amount);
        let pays = [Pay::hinted(other, part), Pay::hinted(own, thing.coin.amount - part)];
        let inner = wallet.p2_pays(thing.owner, &pays);
        let tail = wallet.tail(TAIL, &[]);
        let asset = wallet.hash(tail);
        let lineage = Lineage { parent: thing.coin.parent, inner: Some(own), amount: thing.coin.amount };
        for (pay, owner) in pays.iter().zip([to, thing.owner]) {
            let puzzle_hash = match thing.cat {
                Some(_) => wallet.cat_hash(asset, pay.to),
                None => pay.to,
            };
            let coin = Coin { parent: thing.coin.id(), puzzle_hash, amount: pay.amount };
            self.things.push_back(Thing { coin, owner, cat: thing.cat.map(|_| lineage) });
        }
        match thing.cat {
            Some(lineage) => wallet.spend_cat(thing.coin, asset, inner, Some(lineage), 0),
            None => wallet.spend(thing.coin, inner),
        }
    }

    /// Makes a coin a CAT coin: it becomes an eve coin, which reveals the TAIL.
    fn issue(&mut self, wallet: &mut Wallet, thing: &Thing) -> [CoinSpend; 2] {
        let tail = wallet.tail(TAIL, &[]);
        let asset: Bytes32 = wallet.hash(tail);
        let own = self.people[thing.owner as usize];
        let amount = thing.coin.amount;
        let mut conditions = wallet.creates(&[Pay::hinted(own, amount)]);
        conditions.push(wallet.reveal_tail(tail));
        let list = wallet.clvm.list(&conditions);
        let inner = Inner { puzzle: wallet.clvm.quote(list), solution: wallet.clvm.list(&[]) };
        let inner_hash = wallet.hash(inner.puzzle);
        let eve = Coin { parent: thing.coin.id(), puzzle_hash: wallet.cat_hash(asset, inner_hash), amount };
        let paid = wallet.pay(thing.coin, thing.owner, &[Pay::plain(eve.puzzle_hash, amount)]);
        let lineage = Lineage { parent: eve.parent, inner: Some(inner_hash), amount };
        let coin = Coin { parent: eve.id(), puzzle_hash: wallet.cat_hash(asset, own), amount };
        self.things.push_back(Thing { coin, owner: thing.owner, cat: Some(lineage) });
        [paid, wallet.spend_cat(eve, asset, inner, None, 0)]
    }
}

/// Writes a recording that tells of all these blocks at once.
pub(crate) fn record(file: &Path, blocks: impl IntoIterator<Item = Built>) {
    let file = BufWriter::new(File::create(file).unwrap());
    let mut writer = RecordingWriter::new(file, Network::Simulator0).unwrap();
    let mut tip = None;
    for block in blocks {
        writer.block(block.id, &block.bytes).unwrap();
        tip = Some(block.id);
    }
    writer.peak(tip.unwrap()).unwrap();
    writer.finish().unwrap();
}
