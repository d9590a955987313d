//! Who owns a coin, and what it is: for every layer, for changes of every kind, and for forgeries.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

use chia_puzzles::{CAT_PUZZLE, SINGLETON_TOP_LAYER_V1_1, SINGLETON_TOP_LAYER_V1_1_HASH};
use clvmr::allocator::NodePtr;
use mojoscan_chia::builder::{CoinSpend, Draft, Generator, Tip};
use mojoscan_chia::{Decoded, Limits, decode};
use mojoscan_domain::record::{CoinCreated, CoinSpent, Tag, TransactionType};
use mojoscan_domain::{Asset, Bytes32, Coin, Kind, Network, PuzzleHash, SETTLEMENTS};
use mojoscan_tests::wallet::{DidState, Inner, Lineage, NftState, Pay, Wallet};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// A coin whose parent is not in the block.
fn coin(puzzle_hash: PuzzleHash, amount: u64) -> Coin {
    Coin { parent: Bytes32::new([1; 32]), puzzle_hash, amount }
}

/// A block with these spends, decoded through its bytes.
fn block(spends: Vec<CoinSpend>) -> Decoded {
    let tip = Tip::genesis(Network::Simulator0);
    let draft = Draft { generator: Generator::Compressed(spends), ..Draft::default() };
    let (block, _) = tip.extend(&draft).unwrap();
    decode(&block, &[], Limits::default()).unwrap()
}

fn created(decoded: &Decoded, parent: Coin) -> Vec<&CoinCreated> {
    decoded.events.created.iter().filter(|created| created.coin.parent == parent.id()).collect()
}

fn spent(decoded: &Decoded, coin: Coin) -> &CoinSpent {
    &decoded.events.spent.iter().find(|spent| spent.first.id == coin.id()).unwrap().first
}

fn owners(decoded: &Decoded, coin: Coin) -> Vec<(PuzzleHash, Kind)> {
    let spent = decoded.events.spent.iter().find(|spent| spent.first.id == coin.id()).unwrap();
    let first = (spent.first.owner, spent.first.asset.kind);
    std::iter::once(first).chain(spent.others.iter().map(|(owner, asset)| (*owner, asset.kind))).collect()
}

fn plain(puzzle_hash: PuzzleHash) -> (PuzzleHash, Asset) {
    (puzzle_hash, Asset::XCH)
}

fn holding(created: &CoinCreated) -> (PuzzleHash, Asset) {
    (created.owner, created.asset)
}

/// A CAT coin of owner 1 with a lineage proof that holds.
struct Cat {
    coin: Coin,
    asset: Bytes32,
    lineage: Lineage,
}

impl Cat {
    fn new(wallet: &mut Wallet, inner: PuzzleHash) -> Self {
        let tail = wallet.tail(1, &[]);
        let asset = wallet.hash(tail);
        let lineage =
            Lineage { parent: Bytes32::new([9; 32]), inner: Some(Bytes32::new([8; 32])), amount: 500 };
        let parent = Coin {
            parent: lineage.parent,
            puzzle_hash: wallet.cat_hash(asset, Bytes32::new([8; 32])),
            amount: lineage.amount,
        };
        let coin = Coin { parent: parent.id(), puzzle_hash: wallet.cat_hash(asset, inner), amount: 500 };
        Self { coin, asset, lineage }
    }
}

#[test]
fn xch_belongs_to_its_puzzle_hash() {
    let w = &mut Wallet::default();
    let (one, two) = (w.p2_hash(1), w.p2_hash(2));
    let mut pay = Pay::plain(two, 70);
    pay.memos = vec![b"hello".to_vec(), vec![], vec![0xff; 3]];
    let from = coin(one, 100);
    let spend = w.pay(from, 1, &[pay, Pay::plain(one, 20), Pay::plain(SETTLEMENTS[0], 10)]);
    let decoded = block(vec![spend]);
    let made = created(&decoded, from);
    assert_eq!(holding(made[0]), plain(two));
    assert_eq!(made[0].memos.items, [&b"hello"[..], b"", &[0xff; 3]]);
    assert_eq!(made[0].sender.as_ref().unwrap().owner, one);
    assert_eq!(made[2].asset.kind, Kind::Settlement);
    assert!(!made[2].passing);
    assert_eq!(owners(&decoded, from), [(one, Kind::Standard)]);
    let spent = spent(&decoded, from);
    assert_eq!((spent.transaction.kind, spent.conditional), (TransactionType::Transfer, false));
    assert_eq!(made[0].transaction, Some(spent.transaction));
}

#[test]
fn a_cats_children_belong_to_the_inner_puzzle_hash_hinted_or_not() {
    let w = &mut Wallet::default();
    let (one, two, three) = (w.p2_hash(1), w.p2_hash(2), w.p2_hash(3));
    let cat = Cat::new(w, one);
    let mut misleading = Pay::plain(three, 100);
    misleading.memos = vec![one.to_bytes().to_vec()];
    let inner = w.p2_pays(1, &[Pay::hinted(two, 300), misleading, Pay::plain(one, 100)]);
    let spend = w.spend_cat(cat.coin, cat.asset, inner, Some(cat.lineage), 0);
    let decoded = block(vec![spend]);
    let asset = Asset::new(Kind::Cat, cat.asset);
    let made: Vec<_> = created(&decoded, cat.coin).into_iter().map(holding).collect();
    assert_eq!(made, [(two, asset), (three, asset), (one, asset)]);
    assert_eq!(owners(&decoded, cat.coin), [(one, Kind::Cat), (cat.coin.puzzle_hash, Kind::Standard)]);
    let sender = created(&decoded, cat.coin)[0].sender.clone().unwrap();
    assert_eq!((sender.owner, sender.otherwise, sender.doubtful), (one, vec![cat.coin.puzzle_hash], false));
}

#[test]
fn an_eve_cat_is_plain_and_issues() {
    let w = &mut Wallet::default();
    let two = w.p2_hash(2);
    let tail = w.tail(1, &[]);
    let asset = w.hash(tail);
    let mut conditions = w.creates(&[Pay::hinted(two, 1000)]);
    conditions.push(w.reveal_tail(tail));
    let list = w.clvm.list(&conditions);
    let inner = Inner { puzzle: w.clvm.quote(list), solution: NodePtr::NIL };
    let puzzle = w.cat(asset, inner.puzzle);
    let eve = w.hash(puzzle);
    let from = coin(w.p2_hash(1), 1000);
    let made = Coin { parent: from.id(), puzzle_hash: eve, amount: 1000 };
    let spends = vec![w.pay(from, 1, &[Pay::plain(eve, 1000)]), w.spend_cat(made, asset, inner, None, 0)];
    let decoded = block(spends);
    assert_eq!(holding(created(&decoded, from)[0]), plain(eve));
    let child = created(&decoded, made)[0];
    assert_eq!(holding(child), (two, Asset::new(Kind::Cat, asset)));
    // the eve coin was created in this block, so there is no doubt whose it is
    assert_eq!(owners(&decoded, made), [(eve, Kind::Standard)]);
    let sender = child.sender.clone().unwrap();
    assert_eq!((sender.owner, sender.otherwise, sender.doubtful), (eve, vec![], false));
    assert_eq!(child.transaction.unwrap().kind, TransactionType::CatIssue);
    // without its creation in the block it is most likely an eve coin still
    let alone = w.spend_cat(made, asset, inner, None, 0);
    let decoded = block(vec![alone]);
    let inner_hash = w.hash(inner.puzzle);
    assert_eq!(owners(&decoded, made), [(eve, Kind::Standard), (inner_hash, Kind::Cat)]);
    assert!(created(&decoded, made)[0].sender.as_ref().unwrap().doubtful);
}

#[test]
fn what_the_tail_creates_is_plain() {
    let w = &mut Wallet::default();
    let (one, two) = (w.p2_hash(1), w.p2_hash(2));
    let forged_inner = w.p2_hash(7);
    // the TAIL creates a coin that looks like one of its asset, but no inner puzzle accounts for it
    let asset_known_late = w.cat_hash(Bytes32::new([5; 32]), forged_inner);
    let extra = w.creates(&[Pay::plain(asset_known_late, 5)]);
    let tail = w.tail(1, &extra);
    let asset = w.hash(tail);
    let mut conditions = w.creates(&[Pay::hinted(two, 500)]);
    conditions.push(w.reveal_tail(tail));
    let inner = w.p2_with(1, &conditions);
    let puzzle = w.cat(asset, inner.puzzle);
    let from = coin(w.hash(puzzle), 500);
    let spend = w.spend_cat(from, asset, inner, None, 0);
    let decoded = block(vec![spend]);
    let mut made: Vec<_> = created(&decoded, from).into_iter().map(holding).collect();
    made.sort_by_key(|(_, asset)| asset.kind.code());
    assert_eq!(made, [(two, Asset::new(Kind::Cat, asset)), plain(asset_known_late)]);
    assert!(owners(&decoded, from).contains(&(one, Kind::Cat)));
}

#[test]
fn a_melt_is_told_from_an_issue() {
    let w = &mut Wallet::default();
    let (one, two) = (w.p2_hash(1), w.p2_hash(2));
    let cat = Cat::new(w, one);
    let tail = w.tail(1, &[]);
    let mut conditions = w.creates(&[Pay::hinted(two, 300)]);
    conditions.push(w.reveal_tail(tail));
    let inner = w.p2_with(1, &conditions);
    let spend = w.spend_cat(cat.coin, cat.asset, inner, Some(cat.lineage), -200);
    let decoded = block(vec![spend]);
    assert_eq!(spent(&decoded, cat.coin).transaction.kind, TransactionType::CatMelt);
}

#[test]
fn under_a_revocation_layer_the_one_inside_owns() {
    let w = &mut Wallet::default();
    let (one, two, hidden) = (w.p2_hash(1), w.p2_hash(2), w.p2_hash(99));
    let layer = w.revocable(hidden, one);
    let layer_hash = w.hash(layer);
    let cat = Cat::new(w, layer_hash);
    let asset = Asset::new(Kind::Cat, cat.asset);
    for memos in [vec![two.to_bytes().to_vec()], vec![]] {
        let owner = w.p2_pays(1, &[Pay { to: two, amount: 500, memos }]);
        let inner = w.revocable_with(hidden, one, owner, false);
        let spend = w.spend_cat(cat.coin, cat.asset, inner, Some(cat.lineage), 0);
        let decoded = block(vec![spend]);
        assert_eq!(holding(created(&decoded, cat.coin)[0]), (two, asset));
        let expected = [(one, Kind::Cat), (layer_hash, Kind::Cat), (cat.coin.puzzle_hash, Kind::Standard)];
        assert_eq!(owners(&decoded, cat.coin), expected);
    }
    // a hint at the layer itself does not hide whom it wraps
    let around_two = w.revocable(hidden, two);
    let around_two = w.hash(around_two);
    let pay = Pay { to: two, amount: 500, memos: vec![around_two.to_bytes().to_vec()] };
    let owner = w.p2_pays(1, &[pay]);
    let inner = w.revocable_with(hidden, one, owner, false);
    let spend = w.spend_cat(cat.coin, cat.asset, inner, Some(cat.lineage), 0);
    assert_eq!(holding(created(&block(vec![spend]), cat.coin)[0]), (two, asset));
    // revoked, the issuer says what becomes of it: wrapped again, or free
    let again = w.revocable(hidden, two);
    let again = w.hash(again);
    let mut wrapped = Pay::plain(again, 400);
    wrapped.memos = vec![two.to_bytes().to_vec()];
    let issuer = w.p2_pays(99, &[wrapped, Pay::hinted(two, 100)]);
    let inner = w.revocable_with(hidden, one, issuer, true);
    let spend = w.spend_cat(cat.coin, cat.asset, inner, Some(cat.lineage), 0);
    let decoded = block(vec![spend]);
    let made: Vec<_> = created(&decoded, cat.coin).into_iter().map(holding).collect();
    assert_eq!(made, [(two, asset), (two, asset)]);
}

#[test]
fn a_lineage_proof_counts_only_if_it_holds() {
    let w = &mut Wallet::default();
    let (one, two) = (w.p2_hash(1), w.p2_hash(2));
    let cat = Cat::new(w, one);
    let wrong = Lineage { amount: 501, ..cat.lineage };
    let tail = w.tail(1, &[]);
    let mut conditions = w.creates(&[Pay::hinted(two, 500)]);
    conditions.push(w.reveal_tail(tail));
    let inner = w.p2_with(1, &conditions);
    let spend = w.spend_cat(cat.coin, cat.asset, inner, Some(wrong), 0);
    let decoded = block(vec![spend]);
    assert_eq!(owners(&decoded, cat.coin)[0], (cat.coin.puzzle_hash, Kind::Standard));
}

/// CLVM allows a block 62.5 million pairs. One spend can take most of them; what it made is told all the same, and so
/// are the spends after it.
#[test]
fn a_spend_that_takes_most_of_the_memory_there_is_leaves_the_others_theirs() {
    let w = &mut Wallet::default();
    let two = w.p2_hash(2);
    let inner = burner(w, 37_000, Pay::plain(two, 500));
    let inner_hash = w.hash(inner.puzzle);
    let cat = Cat::new(w, inner_hash);
    let spend = w.spend_cat(cat.coin, cat.asset, inner, Some(cat.lineage), 0);
    let plain_coin = coin(w.p2_hash(3), 100);
    let decoded = block(vec![spend, w.pay(plain_coin, 3, &[Pay::plain(two, 100)])]);
    assert_eq!(holding(created(&decoded, cat.coin)[0]), (two, Asset::new(Kind::Cat, cat.asset)));
    assert_eq!(holding(created(&decoded, plain_coin)[0]), plain(two));
}

/// A puzzle that makes 900 pairs for nothing, again and again, and then pays.
fn burner(w: &mut Wallet, rounds: i128, pay: Pay) -> Inner {
    let c = &mut w.clvm;
    let [quote, apply, choose, cons, minus] = [1, 2, 3, 4, 17].map(|opcode| c.int(opcode));
    let [itself, left, conditions] = [2, 5, 11].map(|path| c.int(path));
    let (nil, one) = (NodePtr::NIL, c.int(1));
    let mut waste = nil;
    for _ in 0..300 {
        waste = c.list(&[cons, left, waste]);
    }
    let quoted_one = c.pair(quote, one);
    let step = c.list(&[choose, waste, quoted_one, quoted_one]);
    let fewer = c.list(&[minus, left, step]);
    let rest = c.list(&[cons, conditions, nil]);
    let rest = c.list(&[cons, fewer, rest]);
    let environment = c.list(&[cons, itself, rest]);
    let again = c.list(&[apply, itself, environment]);
    let (again, done) = (c.quote(again), c.quote(conditions));
    let either = c.list(&[choose, left, again, done]);
    let body = c.list(&[apply, either, one]);
    let body = c.quote(body);
    let environment = c.list(&[cons, body, one]);
    let puzzle = c.list(&[apply, body, environment]);
    let paid = w.creates(&[pay]);
    let (rounds, paid) = (w.clvm.int(rounds), w.clvm.list(&paid));
    Inner { puzzle, solution: w.clvm.list(&[rounds, paid]) }
}

#[test]
fn a_cat_module_that_is_told_another_hash_is_no_cat() {
    let w = &mut Wallet::default();
    let (two, module, asset) = (w.p2_hash(2), Bytes32::new([4; 32]), Bytes32::new([5; 32]));
    let inner = w.p2_pays(1, &[Pay::hinted(two, 501)]);
    // it wraps its children in what it was told, and takes a parent that is wrapped so for one of its own
    let lineage = Lineage { parent: Bytes32::new([9; 32]), inner: Some(Bytes32::new([8; 32])), amount: 501 };
    let puzzle_hash = w.cat_hash_by(module, asset, Bytes32::new([8; 32]));
    let parent = Coin { parent: lineage.parent, puzzle_hash, amount: 501 };
    let arguments = [w.clvm.atom(module), w.clvm.atom(asset), inner.puzzle];
    let puzzle = w.clvm.curry(&CAT_PUZZLE, &arguments);
    let from = Coin { parent: parent.id(), puzzle_hash: w.hash(puzzle), amount: 501 };
    let mut spend = w.spend_cat(from, asset, inner, Some(lineage), 0);
    spend.puzzle = w.clvm.bytes(puzzle);
    let decoded = block(vec![spend]);
    assert_eq!(holding(created(&decoded, from)[0]), plain(w.cat_hash_by(module, asset, two)));
    assert_eq!(owners(&decoded, from), [(from.puzzle_hash, Kind::Standard)]);
}

#[test]
fn a_singleton_of_another_launcher_is_no_singleton() {
    let w = &mut Wallet::default();
    let (two, id) = (w.p2_hash(2), Bytes32::new([6; 32]));
    let inner = w.p2_pays(1, &[Pay::hinted(two, 501)]);
    let module = w.clvm.atom(SINGLETON_TOP_LAYER_V1_1_HASH);
    let (launcher, puzzle_hash) = (w.clvm.atom(id), w.clvm.atom([7; 32]));
    let rest = w.clvm.pair(launcher, puzzle_hash);
    let structure = w.clvm.pair(module, rest);
    let puzzle = w.clvm.curry(&SINGLETON_TOP_LAYER_V1_1, &[structure, inner.puzzle]);
    let parent = Coin { parent: Bytes32::new([1; 32]), puzzle_hash: w.hash(puzzle), amount: 501 };
    let from = Coin { parent: parent.id(), ..parent };
    let lineage = Lineage { parent: parent.parent, inner: Some(w.hash(inner.puzzle)), amount: 501 };
    let mut spend = w.spend_singleton(from, id, inner, &lineage);
    spend.puzzle = w.clvm.bytes(puzzle);
    let decoded = block(vec![spend]);
    let made = created(&decoded, from)[0];
    assert_eq!(holding(made), plain(made.coin.puzzle_hash));
    assert_eq!(owners(&decoded, from), [(from.puzzle_hash, Kind::Standard)]);
}

/// A singleton from its launcher on, all in one block: the launcher coin, the eve coin, and the spends that make them.
struct Launched {
    launcher: Coin,
    spends: Vec<CoinSpend>,
}

impl Launched {
    fn new(w: &mut Wallet) -> Self {
        let from = coin(w.p2_hash(1), 10);
        let puzzle_hash = Bytes32::new(chia_puzzles::SINGLETON_LAUNCHER_HASH);
        let launcher = Coin { parent: from.id(), puzzle_hash, amount: 1 };
        let spends = vec![w.pay(from, 1, &[Pay::plain(puzzle_hash, 1)])];
        Self { launcher, spends }
    }

    /// Spends the launcher to an eve coin of this inner puzzle, and the eve coin with the inner solution.
    fn eve(&mut self, w: &mut Wallet, inner: Inner) -> Coin {
        let id = self.launcher.id();
        let puzzle = w.singleton(id, inner.puzzle);
        let eve = Coin { parent: id, puzzle_hash: w.hash(puzzle), amount: 1 };
        self.spends.push(w.launch(self.launcher, eve.puzzle_hash));
        let lineage = Lineage { parent: self.launcher.parent, inner: None, amount: 1 };
        self.spends.push(w.spend_singleton(eve, id, inner, &lineage));
        eve
    }
}

/// The coin an odd output became.
fn heir(parent: Coin, puzzle_hash: PuzzleHash) -> Coin {
    Coin { parent: parent.id(), puzzle_hash, amount: 1 }
}

#[test]
fn an_nft_from_its_mint_to_its_burn() {
    let w = &mut Wallet::default();
    let (one, two, did) = (w.p2_hash(1), w.p2_hash(2), Bytes32::new([0xdd; 32]));
    let mut launched = Launched::new(w);
    let id = launched.launcher.id();
    let asset = Asset::new(Kind::Nft, id);
    let minted = NftState { launcher: id, uris: 1, did: None };
    // the eve coin assigns a DID as wallets do
    let mut conditions = w.creates(&[Pay::hinted(one, 1)]);
    conditions.push(w.assign_did(Some(did)));
    let owner = w.p2_with(1, &conditions);
    let inner = w.nft_with(&minted, owner);
    let inner_hash = w.hash(inner.puzzle);
    let eve = launched.eve(w, inner);
    let decoded = block(launched.spends);
    assert_eq!(owners(&decoded, eve), [(eve.puzzle_hash, Kind::Standard)]);
    let first = created(&decoded, eve)[0];
    assert_eq!(holding(first), (one, asset));
    let eve_spent = spent(&decoded, eve);
    assert_eq!(eve_spent.tags, [Tag::Mint, Tag::DidAssign]);
    assert_eq!(eve_spent.transaction.kind, TransactionType::NftMint);
    assert!(spent(&decoded, launched.launcher).tags.contains(&Tag::Launcher));

    // moved, with a hint and without
    let state = NftState { did: Some(did), ..minted };
    let first = first.coin;
    let lineage = Lineage { parent: eve.parent, inner: Some(inner_hash), amount: 1 };
    for pay in [Pay::hinted(two, 1), Pay::plain(two, 1)] {
        let owner = w.p2_pays(1, &[pay]);
        let inner = w.nft_with(&state, owner);
        let spend = w.spend_singleton(first, id, inner, &lineage);
        let decoded = block(vec![spend]);
        assert_eq!(holding(created(&decoded, first)[0]), (two, asset));
        assert_eq!(owners(&decoded, first), [(one, Kind::Nft), (first.puzzle_hash, Kind::Singleton)]);
        assert_eq!(spent(&decoded, first).tags, [Tag::Transfer]);
        assert_eq!(spent(&decoded, first).transaction.kind, TransactionType::NftTransfer);
    }

    // its metadata changed, its DID taken away, both at once
    let (add, drop_did) = (w.add_uri(&state), w.assign_did(None));
    for (requests, tags) in [
        (vec![add], vec![Tag::MetadataUpdate]),
        (vec![drop_did], vec![Tag::DidUnassign]),
        (vec![add, drop_did], vec![Tag::DidUnassign, Tag::MetadataUpdate]),
    ] {
        let mut conditions = w.creates(&[Pay::hinted(one, 1)]);
        conditions.extend(requests);
        let owner = w.p2_with(1, &conditions);
        let inner = w.nft_with(&state, owner);
        let spend = w.spend_singleton(first, id, inner, &lineage);
        let decoded = block(vec![spend]);
        assert_eq!(holding(created(&decoded, first)[0]), (one, asset));
        assert_eq!(spent(&decoded, first).tags, tags);
        assert_eq!(spent(&decoded, first).transaction.kind, TransactionType::NftUpdate);
    }

    // burnt
    let owner = w.p2_pays(1, &[Pay::plain(mojoscan_domain::BURN, 1)]);
    let inner = w.nft_with(&state, owner);
    let spend = w.spend_singleton(first, id, inner, &lineage);
    let decoded = block(vec![spend]);
    assert_eq!(created(&decoded, first)[0].owner, mojoscan_domain::BURN);
    assert_eq!(spent(&decoded, first).tags, [Tag::Transfer, Tag::Burn]);
    assert_eq!(spent(&decoded, first).transaction.kind, TransactionType::Burn);
}

#[test]
fn a_state_layer_alone_is_another_singleton() {
    use chia_puzzles::{NFT_METADATA_UPDATER_DEFAULT_HASH, NFT_STATE_LAYER, NFT_STATE_LAYER_HASH};
    let w = &mut Wallet::default();
    let two = w.p2_hash(2);
    let mut launched = Launched::new(w);
    let id = launched.launcher.id();
    let owner = w.p2_pays(1, &[Pay::hinted(two, 1)]);
    let arguments = [
        w.clvm.atom(NFT_STATE_LAYER_HASH),
        NodePtr::NIL,
        w.clvm.atom(NFT_METADATA_UPDATER_DEFAULT_HASH),
        owner.puzzle,
    ];
    let puzzle = w.clvm.curry(&NFT_STATE_LAYER, &arguments);
    let solution = w.clvm.list(&[owner.solution]);
    let eve = launched.eve(w, Inner { puzzle, solution });
    let decoded = block(launched.spends);
    let child = created(&decoded, eve)[0];
    assert_eq!(holding(child), (child.coin.puzzle_hash, Asset::new(Kind::Singleton, id)));
}

#[test]
fn a_did_belongs_to_its_hint_if_that_leads_there() {
    let w = &mut Wallet::default();
    let (one, two) = (w.p2_hash(1), w.p2_hash(2));
    let mut launched = Launched::new(w);
    let id = launched.launcher.id();
    let asset = Asset::new(Kind::Did, id);
    let state = DidState { launcher: id, metadata: 1 };
    let inner_hash = |w: &mut Wallet, state: &DidState, owner: u32| {
        let p2 = w.p2(owner);
        let did = w.did(state, p2);
        w.hash(did)
    };
    let to = |hash: PuzzleHash, hint: Option<PuzzleHash>| {
        let memos = hint.map(|hint| vec![hint.to_bytes().to_vec()]).unwrap_or_default();
        Pay { to: hash, amount: 1, memos }
    };
    let own = inner_hash(w, &state, 1);
    let owner = w.p2_pays(1, &[to(own, Some(one))]);
    let inner = w.did_with(&state, owner);
    let eve = launched.eve(w, inner);
    let decoded = block(launched.spends);
    let first = created(&decoded, eve)[0];
    assert_eq!(holding(first), (one, asset));
    assert_eq!(spent(&decoded, eve).transaction.kind, TransactionType::Did);

    let first = heir(eve, first.coin.puzzle_hash);
    let lineage = Lineage { parent: eve.parent, inner: Some(own), amount: 1 };
    let changed = DidState { metadata: 2, ..state };
    let (moved, updated) = (inner_hash(w, &state, 2), inner_hash(w, &changed, 1));
    for (pay, owner_) in [
        (to(moved, Some(two)), Some(two)), // moved
        (to(moved, Some(one)), None),      // a hint that does not lead there
        (to(moved, None), None),           // no hint
        (to(updated, Some(one)), None),    // other metadata, which nothing shows
    ] {
        let owner = w.p2_pays(1, &[pay]);
        let inner = w.did_with(&state, owner);
        let spend = w.spend_singleton(first, id, inner, &lineage);
        let decoded = block(vec![spend]);
        let child = created(&decoded, first)[0];
        assert_eq!(holding(child), (owner_.unwrap_or(child.coin.puzzle_hash), asset));
        assert_eq!(owners(&decoded, first), [(one, Kind::Did), (first.puzzle_hash, Kind::Did)]);
        assert!(child.sender.as_ref().unwrap().doubtful);
    }
}

#[test]
fn offers_are_looked_through() {
    let w = &mut Wallet::default();
    let (one, two) = (w.p2_hash(1), w.p2_hash(2));
    let settlement = SETTLEMENTS[0];
    // 1 pays XCH for a CAT of 2; both go through settlement coins of this block
    let xch = coin(one, 1000);
    let cat_inner = w.p2_hash(2);
    let cat = Cat::new(w, cat_inner);
    let xch_settled = Coin { parent: xch.id(), puzzle_hash: settlement, amount: 700 };
    let cat_settled =
        Coin { parent: cat.coin.id(), puzzle_hash: w.cat_hash(cat.asset, settlement), amount: 500 };
    let lineage = Lineage { parent: cat.coin.parent, inner: Some(cat_inner), amount: 500 };
    let pays_xch = w.pay(xch, 1, &[Pay::plain(settlement, 700), Pay::plain(one, 300)]);
    let inner = w.p2_pays(2, &[Pay::hinted(settlement, 500)]);
    let pays_cat = w.spend_cat(cat.coin, cat.asset, inner, Some(cat.lineage), 0);
    let inner = w.settlement(&[Pay::hinted(two, 690), Pay::hinted(one, 10)]);
    let settles_xch = w.spend(xch_settled, inner);
    let inner = w.settlement(&[Pay::hinted(one, 500)]);
    let settles_cat = w.spend_cat(cat_settled, cat.asset, inner, Some(lineage), 0);
    // children before their parents: the order of a bundle is anything
    let decoded = block(vec![settles_cat, settles_xch, pays_cat, pays_xch]);
    let asset = Asset::new(Kind::Cat, cat.asset);

    let through = created(&decoded, cat.coin)[0];
    assert_eq!((holding(through), through.passing), ((settlement, asset), true));
    let got = created(&decoded, cat_settled)[0];
    assert_eq!((holding(got), got.passing), ((one, asset), false));
    let sender = got.sender.as_ref().unwrap();
    assert_eq!((sender.owner, sender.coin), (two, cat.coin.id()));
    assert_eq!(created(&decoded, xch_settled)[0].sender.as_ref().unwrap().owner, one);

    let payer = spent(&decoded, xch);
    let outputs: Vec<_> =
        payer.outputs.iter().map(|o| (o.owner, o.amount, o.passing, o.via.is_some())).collect();
    assert_eq!(
        outputs,
        [
            (settlement, 700, true, false),
            (two, 690, false, true),
            (one, 10, false, true),
            (one, 300, false, false)
        ]
    );
    let settled = spent(&decoded, xch_settled);
    assert_eq!((settled.passing, settled.outputs.len()), (true, 2));
    assert_eq!(settled.owner, settlement);
    assert!(settled.tags.contains(&Tag::Offer) && payer.tags.contains(&Tag::Offer));
    assert_eq!(payer.transaction.kind, TransactionType::Offer);
    // nothing ties the two sides together here, but each settlement to its payer
    assert_eq!(payer.transaction.id, settled.transaction.id);

    // a settlement coin of another block is an owner like any other
    let inner = w.settlement(&[Pay::hinted(two, 700)]);
    let late = w.spend(xch_settled, inner);
    let decoded = block(vec![late]);
    assert!(!spent(&decoded, xch_settled).passing);
    assert_eq!(created(&decoded, xch_settled)[0].sender.as_ref().unwrap().owner, settlement);
    assert_eq!(spent(&decoded, xch_settled).asset.kind, Kind::Settlement);
}

#[test]
fn a_reward_to_an_offer_passes_like_any_other_coin() {
    let w = &mut Wallet::default();
    let one = w.p2_hash(1);
    let farmed = Draft { farmer: SETTLEMENTS[0], ..Draft::default() };
    let (_, tip) = Tip::genesis(Network::Simulator0).extend(&farmed).unwrap();
    let decoded = |generator| {
        let (block, _) = tip.extend(&Draft { generator, ..Draft::default() }).unwrap();
        decode(&block, &[], Limits::default()).unwrap()
    };
    let rewarded = |decoded: &Decoded| {
        let created = decoded.events.created.iter().find(|created| created.owner == SETTLEMENTS[0]);
        created.map(|created| (created.coin, created.passing)).unwrap()
    };
    let (reward, passing) = rewarded(&decoded(Generator::None));
    assert!(!passing);
    let inner = w.settlement(&[Pay::hinted(one, reward.amount)]);
    let settled = decoded(Generator::Compressed(vec![w.spend(reward, inner)]));
    assert_eq!(rewarded(&settled), (reward, true));
    assert!(spent(&settled, reward).passing);
}

#[test]
fn spends_that_are_tied_together_are_one_transaction() {
    let w = &mut Wallet::default();
    let coins: Vec<Coin> = (1..=8).map(|owner| coin(w.p2_hash(owner), 100)).collect();
    let announced = |announcer: Bytes32, message: &[u8]| {
        use sha2::Digest as _;
        Bytes32::new(sha2::Sha256::new().chain_update(announcer).chain_update(message).finalize().into())
    };
    let condition = |w: &mut Wallet, code: i128, arguments: &[&[u8]]| {
        let mut items = vec![w.clvm.int(code)];
        items.extend(arguments.iter().map(|argument| w.clvm.atom(argument)));
        w.clvm.list(&items)
    };
    let coin_announcement = announced(coins[0].id(), b"hi");
    let puzzle_announcement = announced(coins[2].puzzle_hash, b"ho");
    let id = |index: usize| coins[index].id().to_bytes();
    let conditions = [
        vec![condition(w, 60, &[b"hi"])],
        vec![condition(w, 61, &[coin_announcement.as_slice()])],
        vec![condition(w, 62, &[b"ho"]), condition(w, 64, &[&id(1)])],
        vec![condition(w, 63, &[puzzle_announcement.as_slice()])],
        // a message from coin 5 (by its id) to coin 6 (by its puzzle hash): mode 0b111_010
        vec![condition(w, 66, &[&[0b11_1010], b"psst", &coins[5].puzzle_hash.to_bytes()])],
        vec![condition(w, 67, &[&[0b11_1010], b"psst", &id(4)])],
        // another message, which nobody receives
        vec![condition(w, 66, &[&[0b11_1010], b"hello?", &coins[5].puzzle_hash.to_bytes()])],
        vec![condition(w, 65, &[&coins[6].puzzle_hash.to_bytes()])],
    ];
    let spends: Vec<CoinSpend> = (1..)
        .zip(coins.iter().zip(&conditions))
        .map(|(owner, (coin, conditions))| {
            let inner = w.p2_with(owner, conditions);
            w.spend(*coin, inner)
        })
        .collect();
    let decoded = block(spends);
    let ids: Vec<Bytes32> = coins.iter().map(|coin| spent(&decoded, *coin).transaction.id).collect();
    assert!(ids[..4].iter().all(|id| *id == ids[0]));
    assert_eq!(ids[4], ids[5]);
    assert_eq!(ids[6], ids[7]);
    assert!(ids[0] != ids[4] && ids[4] != ids[6] && ids[0] != ids[6]);
    // the id is the hash of the coin ids in ascending order
    use sha2::Digest as _;
    let mut pair = [coins[4].id(), coins[5].id()];
    pair.sort();
    let expected = sha2::Sha256::new().chain_update(pair[0]).chain_update(pair[1]).finalize();
    assert_eq!(ids[4].to_bytes(), <[u8; 32]>::from(expected));
}

/// Thousands of spends, each of which asserts thousands of times what each of them announces thousands of times.
#[test]
fn what_everybody_announces_to_everybody_is_one_transaction() {
    let w = &mut Wallet::default();
    let puzzle = w.clvm.int(1);
    let puzzle_hash = w.hash(puzzle);
    let key = Sha256::new_with_prefix(puzzle_hash).chain_update(b"m").finalize();
    let [announce, assert, concurrent] = [62, 63, 65].map(|opcode| w.clvm.int(opcode));
    let (message, key) = (w.clvm.atom(b"m"), w.clvm.atom(key));
    let demanded = w.clvm.atom(puzzle_hash);
    let mut conditions = vec![w.clvm.list(&[announce, message]); 340];
    conditions.extend(vec![w.clvm.list(&[assert, key]); 340]);
    conditions.extend(vec![w.clvm.list(&[concurrent, demanded]); 340]);
    let solution = w.clvm.list(&conditions);
    let coins = (0..1_000).map(|amount| coin(puzzle_hash, amount));
    let mut spends: Vec<_> = coins.map(|coin| w.spend(coin, Inner { puzzle, solution })).collect();
    let stranger = coin(w.p2_hash(1), 7);
    spends.push(w.pay(stranger, 1, &[]));
    let decoded = block(spends);
    let transactions: BTreeSet<_> =
        decoded.events.spent.iter().map(|spent| spent.first.transaction.id).collect();
    assert_eq!((decoded.events.spent.len(), transactions.len()), (1_001, 2));
}
