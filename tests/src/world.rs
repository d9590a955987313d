//! A small world of owners who pay each other, issue CATs, mint NFTs, make DIDs and take offers, block by block, as a
//! seed has it. A world is a value: keep one to fork from it.

use crate::clvm::Clvm;
use crate::wallet::{DidState, Inner, Lineage, NftState, Pay, Wallet};
use chia_puzzles::{SETTLEMENT_PAYMENT_HASH, SINGLETON_LAUNCHER_HASH};
use clvmr::allocator::NodePtr;
use fastrand::Rng;
use mojoscan_chia::builder::{CoinSpend, Draft, Generator, Tip};
use mojoscan_domain::{BURN, BlockId, Bytes32, Coin, Network, PuzzleHash};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Owners; each has one address.
const OWNERS: u32 = 9;
/// Highest fee of a payment, in mojos; of a CAT, most that is melted.
const FEE_MAX: u64 = 1_000_000;
/// Most things dealt with in a block.
const DEALS_MAX: usize = 6;

/// A block of a world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Which.
    pub id: BlockId,
    /// The FullBlock.
    pub bytes: Vec<u8>,
}

/// The end of a chain, and who has what there.
#[derive(Debug, Clone)]
pub struct World {
    tip: Tip,
    things: Vec<Thing>,
    /// The generator of an older block, and its height.
    older: Option<(u32, Vec<u8>)>,
}

/// Something that an owner has.
#[derive(Debug, Clone)]
struct Thing {
    coin: Coin,
    owner: u32,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Xch,
    Cat { tail: u32, lineage: Lineage },
    Nft { state: NftState, lineage: Lineage },
    Did { state: DidState, lineage: Lineage },
}

impl World {
    /// Before block 0.
    pub fn genesis() -> Self {
        Self { tip: Tip::genesis(Network::Simulator0), things: vec![], older: None }
    }

    /// The last block; none before block 0.
    pub const fn id(&self) -> Option<BlockId> {
        self.tip.id()
    }

    /// Adds a block.
    pub fn grow(&mut self, rng: &mut Rng) -> Built {
        let mut block = Deals { wallet: Wallet::default(), rng, spends: vec![], made: vec![] };
        let transaction = self.tip.id().is_none() || block.rng.u8(..10) < 7;
        if transaction {
            block.deal(&mut self.things);
        }
        let (owners, farmer, pool) = block.owners();
        let Deals { rng, spends, made, .. } = block;
        let salt = rng.u64(..);
        let draft = |generator| Draft { generator, transaction, farmer, pool, salt, ..Draft::default() };
        let (generator, older) = match (spends.is_empty(), rng.u8(..5), &self.older) {
            (true, ..) => (Generator::None, false),
            (false, 0, _) => (Generator::Plain(spends), true),
            (false, 1, _) => (Generator::Listed(spends), false),
            (false, 2, Some(older)) => {
                let (plain, _) = self.tip.extend(&draft(Generator::Plain(spends))).unwrap();
                (referring(plain.generator().unwrap(), older), false)
            }
            (false, ..) => (Generator::Compressed(spends), true),
        };
        let (block, tip) = self.tip.extend(&draft(generator)).unwrap();
        self.tip = tip;
        if older && rng.bool() {
            self.older = block.generator().map(|generator| (block.id().height, generator.to_vec()));
        }
        let rewards = block.rewards().into_iter().map(|coin| Thing {
            coin,
            owner: owners[&coin.puzzle_hash],
            kind: Kind::Xch,
        });
        self.things.extend(made.into_iter().chain(rewards));
        Built { id: block.id(), bytes: block.to_bytes().unwrap() }
    }
}

/// A generator that gives what another gives, and only where it is handed the right generator of an older block.
pub fn referring(plain: &[u8], older: &(u32, Vec<u8>)) -> Generator {
    let c = &mut Clvm::default();
    let plain = c.parse(plain);
    // (a (i (= (sha256 (f 5)) (q . hash)) (q . plain) (q . (x))) 1)
    let (first, path) = (c.int(5), c.int(5));
    let reference = c.list(&[first, path]);
    let sha256 = c.int(11);
    let found = c.list(&[sha256, reference]);
    let hash = c.atom(Sha256::digest(&older.1));
    let (equals, hash) = (c.int(9), c.quote(hash));
    let right = c.list(&[equals, found, hash]);
    let raise = c.int(8);
    let raise = c.list(&[raise]);
    let (i, then, otherwise) = (c.int(3), c.quote(plain), c.quote(raise));
    let chosen = c.list(&[i, right, then, otherwise]);
    let (a, everything) = (c.int(2), c.int(1));
    let program = c.list(&[a, chosen, everything]);
    Generator::Program { program: c.bytes(program), references: vec![older.clone()] }
}

/// What happens in a block.
struct Deals<'a> {
    wallet: Wallet,
    rng: &'a mut Rng,
    spends: Vec<CoinSpend>,
    made: Vec<Thing>,
}

impl Deals<'_> {
    fn deal(&mut self, things: &mut Vec<Thing>) {
        for _ in 0..self.rng.usize(..=DEALS_MAX) {
            if things.is_empty() {
                return;
            }
            let thing = things.swap_remove(self.rng.usize(..things.len()));
            match thing.kind.clone() {
                Kind::Xch => self.xch(&thing, things),
                Kind::Cat { tail, lineage } => self.cat(&thing, tail, lineage),
                Kind::Nft { state, lineage } => self.nft(&thing, state, &lineage),
                Kind::Did { state, lineage } => self.did(&thing, &state, &lineage),
            }
        }
    }

    /// Every owner by puzzle hash, and who gets the next rewards.
    fn owners(&mut self) -> (HashMap<PuzzleHash, u32>, PuzzleHash, PuzzleHash) {
        let owners: HashMap<_, _> = (0..OWNERS).map(|owner| (self.wallet.p2_hash(owner), owner)).collect();
        let (farmer, pool) = (self.anyone(), self.anyone());
        (owners, self.wallet.p2_hash(farmer), self.wallet.p2_hash(pool))
    }

    fn anyone(&mut self) -> u32 {
        self.rng.u32(..OWNERS)
    }

    fn xch(&mut self, thing: &Thing, things: &mut Vec<Thing>) {
        match self.rng.u8(..12) {
            0 | 1 if thing.coin.amount > 2_000 => self.issue(thing),
            2 if thing.coin.amount > 1 => self.launch_nft(thing),
            3 if thing.coin.amount > 1 => self.launch_did(thing),
            // the settlement puzzle pays no empty coins
            4 | 5 if thing.coin.amount > 0 => {
                let is_sold = |other: &Thing| matches!(other.kind, Kind::Cat { .. }) && other.coin.amount > 0;
                let sold = things.iter().position(is_sold);
                match sold {
                    Some(sold) => {
                        let sold = things.swap_remove(sold);
                        self.offer(thing, &sold);
                    }
                    None => self.pay(thing),
                }
            }
            6 => self.burn(thing),
            _ => self.pay(thing),
        }
    }

    /// Splits an amount at random: dust and nothing at all among the parts. What little is left over is a fee.
    fn split(&mut self, mut amount: u64) -> Vec<(u32, u64)> {
        let mut parts: Vec<(u32, u64)> = vec![];
        for _ in 0..self.rng.usize(1..5) {
            let part = match self.rng.u8(..6) {
                0 => 0,
                1 => self.rng.u64(1..=20_000).min(amount),
                2 => amount,
                _ => self.rng.u64(..=amount),
            };
            let to = self.anyone();
            // no block may create the same coin twice
            if !parts.contains(&(to, part)) {
                parts.push((to, part));
                amount -= part;
            }
        }
        // consensus knows no fees above u64::MAX, and the first coins alone come near that
        while amount > FEE_MAX {
            let part = (self.anyone(), amount - self.rng.u64(..=FEE_MAX));
            if !parts.contains(&part) {
                parts.push(part);
                amount -= part.1;
            }
        }
        parts
    }

    fn pay(&mut self, thing: &Thing) {
        let parts = self.split(thing.coin.amount);
        let pays = self.pays(&parts);
        let spend = self.wallet.pay(thing.coin, thing.owner, &pays);
        self.spends.push(spend);
        for (pay, (owner, _)) in pays.iter().zip(parts) {
            let coin = Coin { parent: thing.coin.id(), puzzle_hash: pay.to, amount: pay.amount };
            self.made.push(Thing { coin, owner, kind: Kind::Xch });
        }
    }

    fn pays(&mut self, parts: &[(u32, u64)]) -> Vec<Pay> {
        let memos = |rng: &mut Rng, hint: PuzzleHash| match rng.u8(..4) {
            0 => vec![],
            1 => vec![hint.to_bytes().to_vec(), b"thank you".to_vec()],
            2 => vec![vec![rng.u8(..); rng.usize(..40)]; rng.usize(..4)],
            _ => vec![hint.to_bytes().to_vec()],
        };
        parts
            .iter()
            .map(|(to, amount)| {
                let to = self.wallet.p2_hash(*to);
                Pay { to, amount: *amount, memos: memos(self.rng, to) }
            })
            .collect()
    }

    fn burn(&mut self, thing: &Thing) {
        let spend = self.wallet.pay(thing.coin, thing.owner, &[Pay::plain(BURN, thing.coin.amount)]);
        self.spends.push(spend);
    }

    /// A CAT from a coin: the eve coin reveals the TAIL, and makes the first coin.
    fn issue(&mut self, thing: &Thing) {
        let number = self.rng.u32(..3);
        let tail = self.wallet.tail(number, &[]);
        let asset = self.wallet.hash(tail);
        let amount = self.rng.u64(1..=thing.coin.amount / 2);
        let to = self.anyone();
        let pay = Pay::hinted(self.wallet.p2_hash(to), amount);
        let mut conditions = self.wallet.creates(std::slice::from_ref(&pay));
        conditions.push(self.wallet.reveal_tail(tail));
        let list = self.wallet.clvm.list(&conditions);
        let inner = Inner { puzzle: self.wallet.clvm.quote(list), solution: NodePtr::NIL };
        let (puzzle, inner_hash) = (self.wallet.cat(asset, inner.puzzle), self.wallet.hash(inner.puzzle));
        let eve = Coin { parent: thing.coin.id(), puzzle_hash: self.wallet.hash(puzzle), amount };
        self.change(thing, eve.puzzle_hash, amount);
        let spend = self.wallet.spend_cat(eve, asset, inner, None, 0);
        self.spends.push(spend);
        let lineage = Lineage { parent: eve.parent, inner: Some(inner_hash), amount };
        self.made_cat(eve, asset, number, to, &pay, lineage);
    }

    /// Pays part of a coin to a puzzle hash, and the rest back.
    fn change(&mut self, thing: &Thing, to: PuzzleHash, amount: u64) {
        let own = self.wallet.p2_hash(thing.owner);
        let pays = [Pay::plain(to, amount), Pay::plain(own, thing.coin.amount - amount)];
        let spend = self.wallet.pay(thing.coin, thing.owner, &pays);
        self.spends.push(spend);
        let coin = Coin { parent: thing.coin.id(), puzzle_hash: own, amount: pays[1].amount };
        self.made.push(Thing { coin, owner: thing.owner, kind: Kind::Xch });
    }

    fn made_cat(&mut self, parent: Coin, asset: Bytes32, tail: u32, owner: u32, pay: &Pay, lineage: Lineage) {
        let puzzle_hash = self.wallet.cat_hash(asset, pay.to);
        let coin = Coin { parent: parent.id(), puzzle_hash, amount: pay.amount };
        self.made.push(Thing { coin, owner, kind: Kind::Cat { tail, lineage } });
    }

    /// A CAT split among owners; what is left over is melted, which takes the TAIL.
    fn cat(&mut self, thing: &Thing, number: u32, lineage: Lineage) {
        let tail = self.wallet.tail(number, &[]);
        let asset = self.wallet.hash(tail);
        let parts = self.split(thing.coin.amount);
        let pays = self.pays(&parts);
        let rest = thing.coin.amount - parts.iter().map(|(_, amount)| amount).sum::<u64>();
        let mut conditions = self.wallet.creates(&pays);
        if rest > 0 {
            conditions.push(self.wallet.reveal_tail(tail));
        }
        let inner = self.wallet.p2_with(thing.owner, &conditions);
        // the melted mojos are a fee: no XCH coin balances the extra delta
        let delta = -i64::try_from(rest).unwrap();
        let spend = self.wallet.spend_cat(thing.coin, asset, inner, Some(lineage), delta);
        self.spends.push(spend);
        let own = self.wallet.p2_hash(thing.owner);
        let next = Lineage { parent: thing.coin.parent, inner: Some(own), amount: thing.coin.amount };
        for (pay, (owner, _)) in pays.iter().zip(parts) {
            self.made_cat(thing.coin, asset, number, owner, pay, next);
        }
    }

    /// One pays XCH for another's CAT, through settlement coins of this block.
    fn offer(&mut self, xch: &Thing, cat: &Thing) {
        let Kind::Cat { tail, lineage } = cat.kind else { return };
        let tail_program = self.wallet.tail(tail, &[]);
        let asset = self.wallet.hash(tail_program);
        let (buyer, seller) = (self.wallet.p2_hash(xch.owner), self.wallet.p2_hash(cat.owner));
        let settlement = Bytes32::new(SETTLEMENT_PAYMENT_HASH);
        let price = self.rng.u64(1..=xch.coin.amount);
        self.change(xch, settlement, price);
        let paid = Coin { parent: xch.coin.id(), puzzle_hash: settlement, amount: price };
        let inner = self.wallet.settlement(&[Pay::hinted(seller, price)]);
        let spend = self.wallet.spend(paid, inner);
        self.spends.push(spend);
        let coin = Coin { parent: paid.id(), puzzle_hash: seller, amount: price };
        self.made.push(Thing { coin, owner: cat.owner, kind: Kind::Xch });

        let amount = cat.coin.amount;
        let inner = self.wallet.p2_pays(cat.owner, &[Pay::hinted(settlement, amount)]);
        let spend = self.wallet.spend_cat(cat.coin, asset, inner, Some(lineage), 0);
        self.spends.push(spend);
        let puzzle_hash = self.wallet.cat_hash(asset, settlement);
        let settled = Coin { parent: cat.coin.id(), puzzle_hash, amount };
        let lineage = Lineage { parent: cat.coin.parent, inner: Some(seller), amount };
        let pay = Pay::hinted(buyer, amount);
        let inner = self.wallet.settlement(std::slice::from_ref(&pay));
        let spend = self.wallet.spend_cat(settled, asset, inner, Some(lineage), 0);
        self.spends.push(spend);
        let lineage = Lineage { parent: settled.parent, inner: Some(settlement), amount };
        self.made_cat(settled, asset, tail, xch.owner, &pay, lineage);
    }

    /// A launcher coin from a coin.
    fn launcher(&mut self, thing: &Thing) -> Coin {
        let puzzle_hash = Bytes32::new(SINGLETON_LAUNCHER_HASH);
        self.change(thing, puzzle_hash, 1);
        Coin { parent: thing.coin.id(), puzzle_hash, amount: 1 }
    }

    /// The launcher and the eve coin, both spent; gives the eve coin.
    fn eve(&mut self, launcher: Coin, inner: Inner) -> Coin {
        let id = launcher.id();
        let puzzle = self.wallet.singleton(id, inner.puzzle);
        let eve = Coin { parent: id, puzzle_hash: self.wallet.hash(puzzle), amount: 1 };
        let spend = self.wallet.launch(launcher, eve.puzzle_hash);
        self.spends.push(spend);
        let lineage = Lineage { parent: launcher.parent, inner: None, amount: 1 };
        let spend = self.wallet.spend_singleton(eve, id, inner, &lineage);
        self.spends.push(spend);
        eve
    }

    fn launch_nft(&mut self, thing: &Thing) {
        let launcher = self.launcher(thing);
        let state = NftState { launcher: launcher.id(), uris: 1, did: None };
        let to = self.anyone();
        let pay = Pay::hinted(self.wallet.p2_hash(to), 1);
        let owner = self.wallet.p2_pays(thing.owner, &[pay]);
        let inner = self.wallet.nft_with(&state, owner);
        let lineage =
            Lineage { parent: launcher.id(), inner: Some(self.wallet.hash(inner.puzzle)), amount: 1 };
        let eve = self.eve(launcher, inner);
        self.made_nft(eve, to, state, lineage);
    }

    fn made_nft(&mut self, parent: Coin, owner: u32, state: NftState, lineage: Lineage) {
        let p2 = self.wallet.p2(owner);
        let inner = self.wallet.nft(&state, p2);
        let puzzle = self.wallet.singleton(state.launcher, inner);
        let coin = Coin { parent: parent.id(), puzzle_hash: self.wallet.hash(puzzle), amount: 1 };
        self.made.push(Thing { coin, owner, kind: Kind::Nft { state, lineage } });
    }

    fn nft(&mut self, thing: &Thing, mut state: NftState, lineage: &Lineage) {
        let to = self.anyone();
        let mut pay = Pay::plain(self.wallet.p2_hash(to), 1);
        if self.rng.bool() {
            pay.memos = vec![pay.to.to_bytes().to_vec(), b"yours".to_vec()];
        }
        let mut conditions = self.wallet.creates(&[pay]);
        let before = state;
        if self.rng.u8(..3) == 0 {
            conditions.push(self.wallet.add_uri(&state));
            state.uris += 1;
        }
        let owner = self.wallet.p2_with(thing.owner, &conditions);
        let inner = self.wallet.nft_with(&before, owner);
        let spend = self.wallet.spend_singleton(thing.coin, state.launcher, inner, lineage);
        self.spends.push(spend);
        let next =
            Lineage { parent: thing.coin.parent, inner: Some(self.wallet.hash(inner.puzzle)), amount: 1 };
        self.made_nft(thing.coin, to, state, next);
    }

    fn launch_did(&mut self, thing: &Thing) {
        let launcher = self.launcher(thing);
        let state = DidState { launcher: launcher.id(), metadata: 1 };
        let inner = self.did_pays(thing.owner, &state, thing.owner, &state, true);
        let lineage =
            Lineage { parent: launcher.id(), inner: Some(self.wallet.hash(inner.puzzle)), amount: 1 };
        let eve = self.eve(launcher, inner);
        self.made_did(eve, thing.owner, state, lineage);
    }

    /// The DID layer of one owner, solved to make that of another, or of another state.
    fn did_pays(&mut self, from: u32, state: &DidState, to: u32, next: &DidState, hinted: bool) -> Inner {
        let p2 = self.wallet.p2(to);
        let layer = self.wallet.did(next, p2);
        let mut pay = Pay::plain(self.wallet.hash(layer), 1);
        if hinted {
            pay.memos = vec![self.wallet.p2_hash(to).to_bytes().to_vec()];
        }
        let owner = self.wallet.p2_pays(from, &[pay]);
        self.wallet.did_with(state, owner)
    }

    fn made_did(&mut self, parent: Coin, owner: u32, state: DidState, lineage: Lineage) {
        let p2 = self.wallet.p2(owner);
        let inner = self.wallet.did(&state, p2);
        let puzzle = self.wallet.singleton(state.launcher, inner);
        let coin = Coin { parent: parent.id(), puzzle_hash: self.wallet.hash(puzzle), amount: 1 };
        self.made.push(Thing { coin, owner, kind: Kind::Did { state, lineage } });
    }

    /// A DID moved with a hint or without, or changed, which nothing shows until it is spent.
    fn did(&mut self, thing: &Thing, state: &DidState, lineage: &Lineage) {
        let (to, hinted, changed) = (self.anyone(), self.rng.bool(), self.rng.u8(..3) == 0);
        let next = DidState { metadata: state.metadata + u32::from(changed), ..*state };
        let inner = self.did_pays(thing.owner, state, to, &next, hinted);
        let spend = self.wallet.spend_singleton(thing.coin, state.launcher, inner, lineage);
        self.spends.push(spend);
        let proof =
            Lineage { parent: thing.coin.parent, inner: Some(self.wallet.hash(inner.puzzle)), amount: 1 };
        self.made_did(thing.coin, to, next, proof);
    }
}
