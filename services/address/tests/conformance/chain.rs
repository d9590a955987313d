//! Blocks of events about coins, as a seed has them: a chain that can be cut and grown anew.

use fastrand::Rng;
use mojoscan_domain::record::{
    CoinCreated, CoinEvent, CoinSpent, Memos, Output, Place, PuzzleName, Sender, Transaction, TransactionType,
};
use mojoscan_domain::{Asset, BlockId, Bytes32, Coin, Digest, Kind, PuzzleHash};

/// Owners of coins.
const OWNERS: u8 = 7;
/// Most spends of a block.
const SPENDS_MAX: usize = 6;
/// XCH coins below this many mojos are dust.
pub(crate) const DUST_BELOW: u64 = 10_000;

/// Every owner. Their puzzle hashes are spread over all shards.
pub(crate) fn owners() -> impl Iterator<Item = PuzzleHash> {
    (0..OWNERS).map(|number| Digest::of(&[b"owner", &[number]]).to_bytes32())
}

/// A block, with every event in it.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) id: BlockId,
    pub(crate) events: Vec<(Place, CoinEvent)>,
    /// What can be spent in the next one.
    live: Vec<Held>,
}

/// A coin that somebody holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    coin: Coin,
    owner: PuzzleHash,
    asset: Asset,
}

/// Blocks from block 0 on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chain {
    pub(crate) blocks: Vec<Block>,
}

impl Chain {
    /// The last block.
    pub(crate) fn tip(&self) -> Option<BlockId> {
        self.blocks.last().map(|block| block.id)
    }

    /// The block of a height, and those below.
    pub(crate) fn up_to(&self, height: Option<u32>) -> &[Block] {
        &self.blocks[..height.map_or(0, |height| height as usize + 1)]
    }

    /// Drops the blocks above a height; all of them without one.
    pub(crate) fn cut(&mut self, height: Option<u32>) {
        self.blocks.truncate(height.map_or(0, |height| height as usize + 1));
    }

    /// Adds a block.
    pub(crate) fn grow(&mut self, rng: &mut Rng) {
        let id = BlockId { height: u32::try_from(self.blocks.len()).unwrap(), hash: random(rng) };
        let live = self.blocks.last().map(|block| block.live.clone()).unwrap_or_default();
        let mut next = Next { rng, live, created: vec![], spent: vec![] };
        next.reward();
        for _ in 0..next.rng.usize(..=SPENDS_MAX) {
            next.spend();
        }
        let created = next.created.into_iter().map(CoinEvent::Created);
        let events = created.chain(next.spent.into_iter().map(CoinEvent::Spent));
        let place = |index| Place { block: id, timestamp: 1_700_000_000 + 19 * u64::from(id.height), index };
        let events = (0..).zip(events).map(|(index, event)| (place(index), event)).collect();
        self.blocks.push(Block { id, events, live: next.live });
    }
}

/// A block in the making.
struct Next<'a> {
    rng: &'a mut Rng,
    live: Vec<Held>,
    created: Vec<CoinCreated>,
    spent: Vec<CoinSpent>,
}

impl Next<'_> {
    fn anyone(&mut self) -> PuzzleHash {
        let number = self.rng.usize(..usize::from(OWNERS));
        owners().nth(number).unwrap_or_default()
    }

    fn reward(&mut self) {
        let (owner, parent) = (self.anyone(), random(self.rng));
        let coin = Coin { parent, puzzle_hash: owner, amount: 1_750_000_000_000 };
        self.create(Held { coin, owner, asset: Asset::XCH }, Memos::default(), None, None);
    }

    fn create(&mut self, held: Held, memos: Memos, sender: Option<Sender>, transaction: Option<Transaction>) {
        let Held { coin, owner, asset } = held;
        let id = coin.id();
        self.live.push(held);
        self.created.push(CoinCreated { id, coin, owner, asset, memos, sender, transaction, passing: false });
    }

    /// Spends a coin of an earlier block, or of this one.
    fn spend(&mut self) {
        if self.live.is_empty() {
            return;
        }
        let held = self.live.swap_remove(self.rng.usize(..self.live.len()));
        let kind = TransactionType::ALL[self.rng.usize(..TransactionType::ALL.len())];
        let transaction = Transaction { id: random(self.rng), kind };
        let others = if self.rng.u8(..4) == 0 { vec![self.anyone()] } else { vec![] };
        let others: Vec<PuzzleHash> = others.into_iter().filter(|other| *other != held.owner).collect();
        let sender = Sender {
            coin: held.coin.id(),
            owner: held.owner,
            otherwise: others.clone(),
            doubtful: self.rng.bool(),
        };
        let mut outputs = vec![];
        for asset in self.outputs(held.asset) {
            outputs.push(self.output(&held, asset, &sender, transaction));
        }
        self.spent(&held, &others, transaction, outputs);
    }

    /// What the outputs of a coin are.
    fn outputs(&mut self, asset: Asset) -> Vec<Asset> {
        match asset.kind {
            Kind::Nft | Kind::Did | Kind::Singleton => vec![asset; usize::from(self.rng.u8(..8) > 0)],
            Kind::Cat => vec![asset; self.rng.usize(..4)],
            Kind::Standard | Kind::Settlement => (0..self.rng.usize(..5)).map(|_| self.new_asset()).collect(),
        }
    }

    fn new_asset(&mut self) -> Asset {
        match self.rng.u8(..16) {
            0..=2 => Asset::new(Kind::Cat, Bytes32::new([self.rng.u8(..3); 32])),
            3..=5 => Asset::new(Kind::Nft, random(self.rng)),
            6 => Asset::new(Kind::Did, random(self.rng)),
            7 => Asset { kind: Kind::Settlement, id: None },
            _ => Asset::XCH,
        }
    }

    fn output(&mut self, from: &Held, asset: Asset, sender: &Sender, transaction: Transaction) -> Output {
        let owner = self.anyone();
        let amount = match self.rng.u8(..8) {
            0 => 0,
            1..=3 => self.rng.u64(..DUST_BELOW),
            4 if asset.kind == Kind::Cat => u64::MAX,
            _ => self.rng.u64(..1 << 50),
        };
        let items = (0..self.rng.usize(..3)).map(|_| match self.rng.u8(..3) {
            0 => b"thank you".to_vec(),
            1 => owner.to_bytes().to_vec(),
            _ => vec![self.rng.u8(..); self.rng.usize(..80)],
        });
        let memos = Memos { items: items.collect(), truncated: false };
        let coin = Coin { parent: from.coin.id(), puzzle_hash: random(self.rng), amount };
        self.create(Held { coin, owner, asset }, memos.clone(), Some(sender.clone()), Some(transaction));
        let (id, puzzle_hash) = (coin.id(), coin.puzzle_hash);
        Output { id, puzzle_hash, owner, amount, asset, memos, passing: false, via: None }
    }

    /// The records of a spend: copies for others whose coin it may be, and now and then two parts.
    fn spent(
        &mut self,
        held: &Held,
        others: &[PuzzleHash],
        transaction: Transaction,
        mut outputs: Vec<Output>,
    ) {
        let id = held.coin.id();
        let of_this_block = self.created.iter_mut().find(|created| created.id == id);
        let passing = of_this_block.is_some_and(|created| {
            created.passing = created.asset.kind == Kind::Settlement;
            created.passing
        });
        let rest = if self.rng.u8(..6) == 0 { outputs.split_off(outputs.len() / 2) } else { vec![] };
        let first = CoinSpent {
            id,
            coin: held.coin,
            owner: held.owner,
            conditional: !others.is_empty(),
            copy: 0,
            asset: held.asset,
            puzzle: PuzzleName::Standard,
            transaction,
            tags: vec![],
            passing,
            outputs,
            part: 0,
        };
        let copies =
            (1..).zip(others).map(|(copy, owner)| CoinSpent { copy, owner: *owner, ..first.clone() });
        let second = (!rest.is_empty()).then(|| CoinSpent { part: 1, outputs: rest, ..first.clone() });
        self.spent.extend(copies.chain(second));
        // parts of one owner stand in order
        let at = self.spent.iter().position(|spent| spent.id == id).unwrap_or(self.spent.len());
        self.spent.insert(at, first);
    }
}

fn random(rng: &mut Rng) -> Bytes32 {
    Bytes32::new(std::array::from_fn(|_| rng.u8(..)))
}
