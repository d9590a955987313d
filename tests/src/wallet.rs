//! A wallet without keys: makes the spends of every kind of coin, for blocks that nobody validates.

use crate::clvm::Clvm;
use chia_puzzles::{
    CAT_PUZZLE, CAT_PUZZLE_HASH, DID_INNERPUZ, NFT_METADATA_UPDATER_DEFAULT,
    NFT_METADATA_UPDATER_DEFAULT_HASH, NFT_OWNERSHIP_LAYER, NFT_OWNERSHIP_LAYER_HASH,
    NFT_OWNERSHIP_TRANSFER_PROGRAM_ONE_WAY_CLAIM_WITH_ROYALTIES, NFT_STATE_LAYER, NFT_STATE_LAYER_HASH,
    P2_DELEGATED_PUZZLE_OR_HIDDEN_PUZZLE, REVOCATION_LAYER, REVOCATION_LAYER_HASH, SETTLEMENT_PAYMENT,
    SINGLETON_LAUNCHER, SINGLETON_LAUNCHER_HASH, SINGLETON_TOP_LAYER_V1_1, SINGLETON_TOP_LAYER_V1_1_HASH,
};
use clvmr::allocator::NodePtr;
use mojoscan_chia::builder::CoinSpend;
use mojoscan_domain::{Bytes32, Coin, PuzzleHash};

/// What a spend creates: to whom, how much, with which memos.
#[derive(Debug, Clone)]
pub struct Pay {
    /// The (inner) puzzle hash.
    pub to: PuzzleHash,
    /// In mojos.
    pub amount: u64,
    /// The memos.
    pub memos: Vec<Vec<u8>>,
}

impl Pay {
    /// Without memos.
    pub const fn plain(to: PuzzleHash, amount: u64) -> Self {
        Self { to, amount, memos: vec![] }
    }

    /// With the hint alone.
    pub fn hinted(to: PuzzleHash, amount: u64) -> Self {
        Self { to, amount, memos: vec![to.to_bytes().to_vec()] }
    }
}

/// A puzzle and the solution that makes it do something.
#[derive(Debug, Clone, Copy)]
pub struct Inner {
    /// The puzzle.
    pub puzzle: NodePtr,
    /// The solution.
    pub solution: NodePtr,
}

/// How a CAT or a singleton coin came from its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lineage {
    /// The parent's parent.
    pub parent: Bytes32,
    /// The parent's inner puzzle hash; none if the parent is a launcher.
    pub inner: Option<PuzzleHash>,
    /// The parent's amount.
    pub amount: u64,
}

/// What a DID is made of, beside its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DidState {
    /// Its id.
    pub launcher: Bytes32,
    /// Stands for its metadata.
    pub metadata: u32,
}

/// What an NFT is made of, beside its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NftState {
    /// Its id.
    pub launcher: Bytes32,
    /// How many data URIs it has.
    pub uris: u32,
    /// Its owning DID.
    pub did: Option<Bytes32>,
}

/// A wallet without keys.
#[derive(Default)]
pub struct Wallet {
    /// The heap its values live in.
    pub clvm: Clvm,
}

impl Wallet {
    /// The standard puzzle of an owner, who is only a number.
    pub fn p2(&mut self, owner: u32) -> NodePtr {
        let mut key = [0x5a; 48];
        key[..4].copy_from_slice(&owner.to_be_bytes());
        let key = self.clvm.atom(key);
        self.clvm.curry(&P2_DELEGATED_PUZZLE_OR_HIDDEN_PUZZLE, &[key])
    }

    /// The puzzle hash of an owner.
    pub fn p2_hash(&mut self, owner: u32) -> PuzzleHash {
        let puzzle = self.p2(owner);
        self.clvm.hash(puzzle)
    }

    /// The standard puzzle with a solution that returns conditions.
    pub fn p2_with(&mut self, owner: u32, conditions: &[NodePtr]) -> Inner {
        let puzzle = self.p2(owner);
        let conditions = self.clvm.list(conditions);
        let delegated = self.clvm.quote(conditions);
        let solution = self.clvm.list(&[NodePtr::NIL, delegated, NodePtr::NIL]);
        Inner { puzzle, solution }
    }

    /// The standard puzzle with a solution that pays.
    pub fn p2_pays(&mut self, owner: u32, pays: &[Pay]) -> Inner {
        let conditions = self.creates(pays);
        self.p2_with(owner, &conditions)
    }

    /// `CREATE_COIN` conditions.
    pub fn creates(&mut self, pays: &[Pay]) -> Vec<NodePtr> {
        pays.iter()
            .map(|pay| {
                let memos: Vec<&[u8]> = pay.memos.iter().map(Vec::as_slice).collect();
                self.clvm.create(pay.to, pay.amount, &memos)
            })
            .collect()
    }

    /// A spend of a coin by a puzzle and a solution.
    pub fn spend(&mut self, coin: Coin, inner: Inner) -> CoinSpend {
        CoinSpend { coin, puzzle: self.clvm.bytes(inner.puzzle), solution: self.clvm.bytes(inner.solution) }
    }

    /// A spend of an XCH coin of an owner.
    pub fn pay(&mut self, coin: Coin, owner: u32, pays: &[Pay]) -> CoinSpend {
        let inner = self.p2_pays(owner, pays);
        self.spend(coin, inner)
    }

    /// A TAIL that allows everything, and returns conditions of its own. Its hash is the asset id.
    pub fn tail(&mut self, number: u32, conditions: &[NodePtr]) -> NodePtr {
        let (remark, number) = (self.clvm.int(1), self.clvm.int(number.into()));
        let remark = self.clvm.list(&[remark, number]);
        let mut all = vec![remark];
        all.extend(conditions);
        let all = self.clvm.list(&all);
        self.clvm.quote(all)
    }

    /// The condition with which an inner puzzle reveals a TAIL.
    pub fn reveal_tail(&mut self, tail: NodePtr) -> NodePtr {
        let items = [self.clvm.int(51), NodePtr::NIL, self.clvm.int(-113), tail, NodePtr::NIL];
        self.clvm.list(&items)
    }

    /// The CAT puzzle around an inner one.
    pub fn cat(&mut self, asset: Bytes32, inner: NodePtr) -> NodePtr {
        let (module, asset) = (self.clvm.atom(CAT_PUZZLE_HASH), self.clvm.atom(asset));
        self.clvm.curry(&CAT_PUZZLE, &[module, asset, inner])
    }

    /// The CAT puzzle hash around an inner one.
    pub fn cat_hash(&mut self, asset: Bytes32, inner: PuzzleHash) -> PuzzleHash {
        self.cat_hash_by(Bytes32::new(CAT_PUZZLE_HASH), asset, inner)
    }

    /// What a CAT puzzle that is told this module hash takes for the CAT puzzle hash around an inner one.
    pub fn cat_hash_by(&mut self, told: Bytes32, asset: Bytes32, inner: PuzzleHash) -> PuzzleHash {
        let module = self.clvm.atom(told);
        let module = self.clvm.hash(module);
        let asset = self.clvm.atom(asset);
        let asset = self.clvm.hash(asset);
        let arguments = [module, asset, inner].map(|hash| hash.to_bytes().into());
        Bytes32::new(clvm_utils::curry_tree_hash(told.to_bytes().into(), &arguments).to_bytes())
    }

    /// A spend of a CAT coin, in a ring of one.
    pub fn spend_cat(
        &mut self,
        coin: Coin,
        asset: Bytes32,
        inner: Inner,
        lineage: Option<Lineage>,
        extra_delta: i64,
    ) -> CoinSpend {
        let puzzle = self.cat(asset, inner.puzzle);
        let inner_hash = self.clvm.hash(inner.puzzle);
        let lineage = match lineage {
            Some(lineage) => self.proof(&lineage),
            None => NodePtr::NIL,
        };
        let own = self.clvm.atom(coin.id());
        let this = [
            self.clvm.atom(coin.parent),
            self.clvm.atom(coin.puzzle_hash),
            self.clvm.int(coin.amount.into()),
        ];
        let next =
            [self.clvm.atom(coin.parent), self.clvm.atom(inner_hash), self.clvm.int(coin.amount.into())];
        let (this, next) = (self.clvm.list(&this), self.clvm.list(&next));
        let delta = self.clvm.int(extra_delta.into());
        let solution = self.clvm.list(&[inner.solution, lineage, own, this, next, NodePtr::NIL, delta]);
        self.spend(coin, Inner { puzzle, solution })
    }

    fn proof(&mut self, lineage: &Lineage) -> NodePtr {
        let mut proof = vec![self.clvm.atom(lineage.parent)];
        proof.extend(lineage.inner.map(|inner| self.clvm.atom(inner)));
        proof.push(self.clvm.int(lineage.amount.into()));
        self.clvm.list(&proof)
    }

    /// The revocation layer around an owner's puzzle hash.
    pub fn revocable(&mut self, hidden: PuzzleHash, inner: PuzzleHash) -> NodePtr {
        let arguments =
            [self.clvm.atom(REVOCATION_LAYER_HASH), self.clvm.atom(hidden), self.clvm.atom(inner)];
        self.clvm.curry(&REVOCATION_LAYER, &arguments)
    }

    /// The revocation layer, solved by the owner or (`revoke`) by the issuer.
    pub fn revocable_with(
        &mut self,
        hidden: PuzzleHash,
        owner: PuzzleHash,
        inner: Inner,
        revoke: bool,
    ) -> Inner {
        let puzzle = self.revocable(hidden, owner);
        let revoke = self.clvm.int(revoke.into());
        let solution = self.clvm.list(&[revoke, inner.puzzle, inner.solution]);
        Inner { puzzle, solution }
    }

    /// `(module hash . (launcher id . launcher puzzle hash))`.
    fn structure(&mut self, launcher: Bytes32) -> NodePtr {
        let module = self.clvm.atom(SINGLETON_TOP_LAYER_V1_1_HASH);
        let (launcher, puzzle) = (self.clvm.atom(launcher), self.clvm.atom(SINGLETON_LAUNCHER_HASH));
        let rest = self.clvm.pair(launcher, puzzle);
        self.clvm.pair(module, rest)
    }

    /// The singleton puzzle around an inner one.
    pub fn singleton(&mut self, launcher: Bytes32, inner: NodePtr) -> NodePtr {
        let structure = self.structure(launcher);
        self.clvm.curry(&SINGLETON_TOP_LAYER_V1_1, &[structure, inner])
    }

    /// A spend of a singleton.
    pub fn spend_singleton(
        &mut self,
        coin: Coin,
        launcher: Bytes32,
        inner: Inner,
        lineage: &Lineage,
    ) -> CoinSpend {
        let puzzle = self.singleton(launcher, inner.puzzle);
        let (proof, amount) = (self.proof(lineage), self.clvm.int(coin.amount.into()));
        let solution = self.clvm.list(&[proof, amount, inner.solution]);
        self.spend(coin, Inner { puzzle, solution })
    }

    /// A spend of a launcher coin, which makes the eve coin of a singleton.
    pub fn launch(&mut self, launcher: Coin, eve: PuzzleHash) -> CoinSpend {
        let puzzle = self.clvm.parse(&SINGLETON_LAUNCHER);
        let solution = [self.clvm.atom(eve), self.clvm.int(launcher.amount.into()), NodePtr::NIL];
        let solution = self.clvm.list(&solution);
        self.spend(launcher, Inner { puzzle, solution })
    }

    /// The DID layer around an owner's puzzle.
    pub fn did(&mut self, state: &DidState, inner: NodePtr) -> NodePtr {
        let structure = self.structure(state.launcher);
        let (nobody, none) = (self.clvm.list(&[]), self.clvm.int(0));
        let nobody = self.clvm.hash(nobody);
        let nobody = self.clvm.atom(nobody);
        let metadata = self.clvm.int(state.metadata.into());
        self.clvm.curry(&DID_INNERPUZ, &[inner, nobody, none, structure, metadata])
    }

    /// The DID layer, solved by its owner, whose puzzle makes `pays`.
    pub fn did_with(&mut self, state: &DidState, owner: Inner) -> Inner {
        let puzzle = self.did(state, owner.puzzle);
        let mode = self.clvm.int(1);
        let solution = self.clvm.list(&[mode, owner.solution]);
        Inner { puzzle, solution }
    }

    /// The NFT's layers around an owner's puzzle.
    pub fn nft(&mut self, state: &NftState, inner: NodePtr) -> NodePtr {
        let ownership = self.ownership(state, inner);
        let module = self.clvm.atom(NFT_STATE_LAYER_HASH);
        let updater = self.clvm.atom(NFT_METADATA_UPDATER_DEFAULT_HASH);
        let metadata = self.metadata(state.uris);
        self.clvm.curry(&NFT_STATE_LAYER, &[module, metadata, updater, ownership])
    }

    fn ownership(&mut self, state: &NftState, inner: NodePtr) -> NodePtr {
        let structure = self.structure(state.launcher);
        let royalty = [structure, self.clvm.atom([7; 32]), self.clvm.int(300)];
        let program = self.clvm.curry(&NFT_OWNERSHIP_TRANSFER_PROGRAM_ONE_WAY_CLAIM_WITH_ROYALTIES, &royalty);
        let module = self.clvm.atom(NFT_OWNERSHIP_LAYER_HASH);
        let owner = match state.did {
            Some(did) => self.clvm.atom(did),
            None => NodePtr::NIL,
        };
        self.clvm.curry(&NFT_OWNERSHIP_LAYER, &[module, owner, program, inner])
    }

    fn metadata(&mut self, uris: u32) -> NodePtr {
        let uris: Vec<NodePtr> =
            (0..uris).rev().map(|number| self.clvm.atom(format!("uri{number}"))).collect();
        let (key, uris) = (self.clvm.atom("u"), self.clvm.list(&uris));
        let entry = self.clvm.pair(key, uris);
        self.clvm.list(&[entry])
    }

    /// The NFT's layers, solved by its owner.
    pub fn nft_with(&mut self, state: &NftState, owner: Inner) -> Inner {
        let puzzle = self.nft(state, owner.puzzle);
        let ownership = self.clvm.list(&[owner.solution]);
        let solution = self.clvm.list(&[ownership]);
        Inner { puzzle, solution }
    }

    /// The condition that asks the ownership layer for another DID.
    pub fn assign_did(&mut self, did: Option<Bytes32>) -> NodePtr {
        let code = self.clvm.int(-10);
        let (did, inner) = match did {
            Some(did) => (self.clvm.atom(did), self.clvm.atom([8; 32])),
            None => (NodePtr::NIL, NodePtr::NIL),
        };
        self.clvm.list(&[code, did, NodePtr::NIL, inner])
    }

    /// The condition that asks the state layer to add the next data URI.
    pub fn add_uri(&mut self, state: &NftState) -> NodePtr {
        let (key, uri) = (self.clvm.atom("u"), self.clvm.atom(format!("uri{}", state.uris)));
        let solution = self.clvm.pair(key, uri);
        let items = [self.clvm.int(-24), self.clvm.parse(&NFT_METADATA_UPDATER_DEFAULT), solution];
        self.clvm.list(&items)
    }

    /// The settlement puzzle, solved to pay.
    pub fn settlement(&mut self, pays: &[Pay]) -> Inner {
        let puzzle = self.clvm.parse(&SETTLEMENT_PAYMENT);
        let payments: Vec<NodePtr> = pays
            .iter()
            .map(|pay| {
                let memos: Vec<NodePtr> = pay.memos.iter().map(|memo| self.clvm.atom(memo)).collect();
                let mut items = vec![self.clvm.atom(pay.to), self.clvm.int(pay.amount.into())];
                if !memos.is_empty() {
                    items.push(self.clvm.list(&memos));
                }
                self.clvm.list(&items)
            })
            .collect();
        let nonce = self.clvm.atom([3; 32]);
        let payments = self.clvm.list(&payments);
        let notarized = self.clvm.pair(nonce, payments);
        let solution = self.clvm.list(&[notarized]);
        Inner { puzzle, solution }
    }

    /// The hash of any puzzle.
    pub fn hash(&self, puzzle: NodePtr) -> PuzzleHash {
        self.clvm.hash(puzzle)
    }
}
