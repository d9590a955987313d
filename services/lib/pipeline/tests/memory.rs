//! The log in memory: what consumers that stand at different places are handed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

use mojoscan_domain::record::{CoinCreated, CoinEvent, Memos, Record, Sequenced, Watermark};
use mojoscan_domain::{Asset, BlockId, Bytes32, Coin, Header, Position};
use mojoscan_pipeline::memory::{self, MemoryLog, MemoryPublisher};
use mojoscan_pipeline::{
    Accepted, BlockEvents, Delivery, History, HistoryError, Ledger, LogError, MemoryHistory, PublishBatch,
    PublishError, Publisher, RecordLog, RewindTo,
};
use std::collections::BTreeMap;
use std::env;
use std::time::Duration;

/// Longest wait for something that comes at once or never. Time stands still otherwise.
const SOON: Duration = Duration::from_secs(1);

/// A block of a fork: its hash is made of the fork's letter and the height.
fn id(fork: u8, height: u32) -> BlockId {
    let mut hash = [fork; 32];
    hash[28..].copy_from_slice(&height.to_be_bytes());
    BlockId { height, hash: Bytes32::new(hash) }
}

/// A block with one event.
fn block(id: BlockId, previous: Option<BlockId>) -> BlockEvents {
    let previous_hash = previous.map_or(Bytes32::ZERO, |previous| previous.hash);
    let header = Header {
        id,
        previous_hash,
        timestamp: Some(1_700_000_000),
        weight: 0,
        total_iterations: 0,
        fees: 0,
        rewards: 0,
        cost: 0,
        created: 1,
        spent: 0,
    };
    let coin = Coin { parent: id.hash, puzzle_hash: Bytes32::ZERO, amount: 1 };
    let created = CoinCreated {
        id: coin.id(),
        coin,
        owner: Bytes32::ZERO,
        asset: Asset::XCH,
        memos: Memos::default(),
        sender: None,
        transaction: None,
        passing: false,
    };
    BlockEvents { header, coins: vec![CoinEvent::Created(created)] }
}

/// Blocks of a fork that stand on a block, or begin the chain.
fn blocks(fork: u8, base: Option<BlockId>, count: u32) -> Vec<BlockEvents> {
    let (first, mut previous) = (base.map_or(0, |base| base.height + 1), base);
    let next = |height| {
        let id = id(fork, height);
        block(id, previous.replace(id))
    };
    (first..first + count).map(next).collect()
}

fn batch(rewind: Option<RewindTo>, blocks: Vec<BlockEvents>) -> PublishBatch {
    let peak_height = blocks.last().map_or(7, |block| block.header.id.height);
    PublishBatch { rewind, blocks, peak_height, heard_at_ms: Some(1_700_000_000_000) }
}

/// Where a consumer stands that has read its own stream up to a block.
fn at(epoch: u64, block: Option<BlockId>, seq: u64) -> Position {
    Position { epoch, block, seq, offset: seq + 1 }
}

fn history<'a>(known: impl IntoIterator<Item = &'a BlockEvents>) -> MemoryHistory {
    let mut history = MemoryHistory::default();
    let headers: Vec<&Header> = known.into_iter().map(|block| &block.header).collect();
    history.remember(&headers).unwrap();
    history
}

/// A consumer that checks what it is handed, and keeps the blocks it has events of.
struct Consumer {
    log: MemoryLog,
    ledger: Ledger,
    held: Vec<BlockId>,
}

impl Consumer {
    async fn open(mut log: MemoryLog, position: Position, held: Vec<BlockId>) -> Self {
        assert_eq!(log.topic(), "coins");
        assert_eq!(log.next().await, Ok(Delivery::Assigned(0)));
        log.seek(0, position).await.unwrap();
        Self { log, ledger: Ledger::new(position), held }
    }

    /// Takes a delivery, and gives its records.
    async fn take(&mut self) -> Vec<Record<CoinEvent>> {
        let delivery = tokio::time::timeout(SOON, self.log.next()).await;
        let Ok(Ok(Delivery::Records(0, records, _))) = delivery else { panic!("{delivery:?}") };
        records.into_iter().map(|record| self.accept(record)).collect()
    }

    fn accept(&mut self, sequenced: Sequenced<CoinEvent>) -> Record<CoinEvent> {
        assert_eq!(self.ledger.accept(&sequenced), Ok(Accepted::New));
        match &sequenced.record {
            Record::Event(place, _) => self.held.push(place.block),
            Record::Watermark(watermark) => assert_eq!(self.held.last(), Some(&watermark.block)),
            Record::Rewind(rewind) => {
                self.held.retain(|block| Some(block.height) <= rewind.to.map(|to| to.height))
            }
        }
        sequenced.record
    }

    async fn is_handed_nothing(&mut self) {
        assert!(tokio::time::timeout(SOON, self.log.next()).await.is_err(), "something was delivered");
    }
}

/// Heights of the events among records, `!` for a watermark and `<` for a rewind.
fn told(records: &[Record<CoinEvent>]) -> String {
    let name = |record: &Record<CoinEvent>| match record {
        Record::Event(place, _) => {
            format!("{}{}", char::from(place.block.hash.to_bytes()[0]), place.block.height)
        }
        Record::Watermark(watermark) => format!("!{}", watermark.block.height),
        Record::Rewind(rewind) => rewind.to.map_or_else(|| "<".to_owned(), |to| format!("<{}", to.height)),
    };
    records.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// A log, with its consumers opened at these positions.
async fn opened<const N: usize>(
    history: MemoryHistory,
    positions: [Position; N],
) -> (MemoryPublisher<MemoryHistory>, [Consumer; N]) {
    let (publisher, logs) = memory::log(history, N);
    let mut consumers = vec![];
    for (log, position) in logs.into_iter().zip(positions) {
        let held = 0..position.block.map_or(0, |block| block.height + 1);
        let fork = position.block.map_or(0, |block| block.hash.to_bytes()[0]);
        // what it held below does not matter here, only its height
        let held = held.map(|height| id(fork, height)).collect();
        consumers.push(Consumer::open(log, position, held).await);
    }
    (publisher, consumers.try_into().map_err(|_| "one for each position").unwrap())
}

#[tokio::test(start_paused = true)]
async fn from_the_start_everything_is_handed_on_and_linked() {
    let (mut publisher, [mut one]) = opened(MemoryHistory::default(), [Position::START]).await;
    assert_eq!(publisher.resume().await, Ok(None));
    publisher.publish(batch(None, blocks(b'a', None, 3))).await.unwrap();
    assert_eq!(told(&one.take().await), "a0 a1 a2 !2");
    publisher.publish(batch(None, blocks(b'a', Some(id(b'a', 2)), 1))).await.unwrap();
    let records = one.take().await;
    assert_eq!(told(&records), "a3 !3");
    let Some(Record::Watermark(watermark)) = records.last() else { panic!("{records:?}") };
    let expected = Watermark {
        block: id(b'a', 3),
        previous: Some(id(b'a', 2)),
        peak_height: 3,
        heard_at_ms: Some(1_700_000_000_000),
    };
    assert_eq!(*watermark, expected);
    assert_eq!(one.ledger.position(), Position { epoch: 0, block: Some(id(b'a', 3)), seq: 6, offset: 7 });
    assert_eq!(publisher.find_previous(id(b'a', 3)).await, Ok(Some(id(b'a', 2))));
    assert_eq!(publisher.find_previous(id(b'a', 0)).await, Ok(None));
    // asked again, it says where it is
    assert_eq!(publisher.resume().await, Ok(Some(id(b'a', 3))));
}

#[tokio::test(start_paused = true)]
async fn consumers_at_the_same_block_are_handed_nothing_twice() {
    let known = blocks(b'a', None, 6);
    let positions = [at(0, Some(id(b'a', 5)), 12), at(4, Some(id(b'a', 5)), 90)];
    let (mut publisher, [mut one, mut two]) = opened(history(&known), positions).await;
    assert_eq!(publisher.resume().await, Ok(Some(id(b'a', 5))));
    publisher.publish(batch(None, blocks(b'a', Some(id(b'a', 5)), 2))).await.unwrap();
    // each goes on with its own epoch and numbers, which its ledger checks
    assert_eq!(told(&one.take().await), "a6 a7 !7");
    assert_eq!(told(&two.take().await), "a6 a7 !7");
    assert_eq!((one.ledger.position().seq, two.ledger.position().seq), (15, 93));
}

#[tokio::test(start_paused = true)]
async fn consumers_behind_are_handed_what_they_lack_and_no_more() {
    let known = blocks(b'a', None, 8);
    let block = |height| Some(id(b'a', height));
    let positions = [at(0, block(2), 6), at(1, block(7), 40), at(0, block(4), 11)];
    let (mut publisher, [mut behind, mut ahead, mut between]) = opened(history(&known), positions).await;
    assert_eq!(publisher.resume().await, Ok(block(2)));
    publisher.publish(batch(None, blocks(b'a', block(2), 3))).await.unwrap();
    assert_eq!(told(&behind.take().await), "a3 a4 a5 !5");
    assert_eq!(told(&between.take().await), "a5 !5");
    ahead.is_handed_nothing().await;
    // nor is it told that the chain was heard from at a block below its own
    publisher.publish(batch(None, vec![])).await.unwrap();
    assert_eq!(told(&behind.take().await), "!5");
    assert_eq!(told(&between.take().await), "!5");
    ahead.is_handed_nothing().await;
    publisher.publish(batch(None, blocks(b'a', block(5), 3))).await.unwrap();
    assert_eq!(told(&behind.take().await), "a6 a7 a8 !8");
    assert_eq!(told(&ahead.take().await), "a8 !8");
    assert_eq!(told(&between.take().await), "a6 a7 a8 !8");
}

#[tokio::test(start_paused = true)]
async fn a_consumer_that_has_just_caught_up_gets_a_watermark() {
    let known = blocks(b'a', None, 5);
    let positions = [at(0, Some(id(b'a', 1)), 4), at(0, Some(id(b'a', 4)), 10)];
    let (mut publisher, [mut behind, mut ahead]) = opened(history(&known), positions).await;
    assert_eq!(publisher.resume().await, Ok(Some(id(b'a', 1))));
    publisher.publish(batch(None, blocks(b'a', Some(id(b'a', 1)), 3))).await.unwrap();
    assert_eq!(told(&behind.take().await), "a2 a3 a4 !4");
    assert_eq!(told(&ahead.take().await), "!4");
}

#[tokio::test(start_paused = true)]
async fn a_consumer_ahead_on_another_fork_is_rewound_first() {
    let mut known = blocks(b'a', None, 4);
    known.extend(blocks(b'b', Some(id(b'a', 2)), 3));
    let positions = [at(0, Some(id(b'a', 3)), 8), at(2, Some(id(b'b', 5)), 30)];
    let (mut publisher, [mut one, mut other]) = opened(history(&known), positions).await;
    assert_eq!(publisher.resume().await, Ok(Some(id(b'a', 2))));
    publisher.publish(batch(None, blocks(b'a', Some(id(b'a', 2)), 2))).await.unwrap();
    assert_eq!(told(&one.take().await), "a4 !4");
    assert_eq!(told(&other.take().await), "<2 a3 a4 !4");
    assert_eq!(other.ledger.position().epoch, 3);
    // the same the other way round
    let (mut publisher, [mut one, mut other]) = opened(history(&known), positions).await;
    assert_eq!(publisher.resume().await, Ok(Some(id(b'a', 2))));
    publisher.publish(batch(None, blocks(b'b', Some(id(b'a', 2)), 4))).await.unwrap();
    assert_eq!(told(&one.take().await), "<2 b3 b4 b5 b6 !6");
    assert_eq!(told(&other.take().await), "b6 !6");
}

#[tokio::test(start_paused = true)]
async fn a_consumer_ahead_is_rewound_only_to_where_the_chain_leaves_its_own() {
    let known = blocks(b'a', None, 7);
    let positions = [at(0, Some(id(b'a', 1)), 4), at(0, Some(id(b'a', 6)), 14)];
    let (mut publisher, [mut behind, mut ahead]) = opened(history(&known), positions).await;
    assert_eq!(publisher.resume().await, Ok(Some(id(b'a', 1))));
    publisher.publish(batch(None, blocks(b'a', Some(id(b'a', 1)), 2))).await.unwrap();
    assert_eq!(told(&behind.take().await), "a2 a3 !3");
    publisher.publish(batch(None, blocks(b'c', Some(id(b'a', 3)), 1))).await.unwrap();
    assert_eq!(told(&behind.take().await), "c4 !4");
    assert_eq!(told(&ahead.take().await), "<3 c4 !4");
    ahead.is_handed_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_rewind_goes_to_everybody() {
    let known = blocks(b'a', None, 9);
    let positions = [at(0, Some(id(b'a', 5)), 12), at(7, Some(id(b'a', 8)), 50)];
    let (mut publisher, [mut one, mut ahead]) = opened(history(&known), positions).await;
    assert_eq!(publisher.resume().await, Ok(Some(id(b'a', 5))));
    let fork = blocks(b'b', Some(id(b'a', 3)), 2);
    publisher.publish(batch(Some(RewindTo(Some(id(b'a', 3)))), fork)).await.unwrap();
    assert_eq!(told(&one.take().await), "<3 b4 b5 !5");
    assert_eq!(told(&ahead.take().await), "<3 b4 b5 !5");
    assert_eq!((one.ledger.position().epoch, ahead.ledger.position().epoch), (1, 8));
    // one without blocks leads to a chain that is shorter for the time being
    publisher.publish(batch(Some(RewindTo(Some(id(b'a', 1)))), vec![])).await.unwrap();
    assert_eq!(told(&one.take().await), "<1 !1");
    assert_eq!(publisher.resume().await, Ok(Some(id(b'a', 1))));
    // and one to before the first block leads to another chain
    publisher.publish(batch(Some(RewindTo(None)), blocks(b'z', None, 2))).await.unwrap();
    assert_eq!(told(&one.take().await), "< z0 z1 !1");
    assert_eq!(publisher.resume().await, Ok(Some(id(b'z', 1))));
}

#[tokio::test(start_paused = true)]
async fn without_blocks_the_last_watermark_is_repeated() {
    let (mut publisher, [mut one]) = opened(MemoryHistory::default(), [Position::START]).await;
    assert_eq!(publisher.resume().await, Ok(None));
    // there is no block to name yet
    publisher.publish(batch(None, vec![])).await.unwrap();
    one.is_handed_nothing().await;
    publisher.publish(batch(None, blocks(b'a', None, 1))).await.unwrap();
    assert_eq!(told(&one.take().await), "a0 !0");
    let finished = PublishBatch { peak_height: 0, heard_at_ms: None, ..PublishBatch::default() };
    publisher.publish(finished).await.unwrap();
    let block = id(b'a', 0);
    let repeated = Watermark { block, previous: Some(block), peak_height: 0, heard_at_ms: None };
    assert_eq!(one.take().await, [Record::Watermark(repeated)]);
}

#[tokio::test(start_paused = true)]
async fn a_consumer_whose_block_is_forgotten_starts_anew() {
    let positions = [at(1, Some(id(b'x', 9)), 33), Position::START];
    let (mut publisher, [mut lost, mut new]) = opened(MemoryHistory::default(), positions).await;
    assert_eq!(publisher.resume().await, Ok(None));
    publisher.publish(batch(None, blocks(b'a', None, 2))).await.unwrap();
    assert_eq!(told(&lost.take().await), "< a0 a1 !1");
    assert_eq!(told(&new.take().await), "a0 a1 !1");
}

#[tokio::test(start_paused = true)]
async fn the_publisher_waits_for_consumers_and_ends_without_them() {
    let (mut publisher, [mut one, two]) = opened(MemoryHistory::default(), [Position::START; 2]).await;
    assert_eq!(publisher.resume().await, Ok(None));
    let mut base = None;
    for _ in 0..2 {
        let next = blocks(b'a', base, 1);
        base = Some(next[0].header.id);
        publisher.publish(batch(None, next)).await.unwrap();
    }
    // both consumers have two deliveries waiting, and are given no third
    let third = batch(None, blocks(b'a', base, 1));
    assert!(tokio::time::timeout(SOON, publisher.publish(third.clone())).await.is_err());
    one.take().await;
    drop(two);
    let gone = publisher.publish(third).await;
    assert!(matches!(gone, Err(PublishError::Broken(_))), "{gone:?}");
    drop(publisher);
    one.take().await;
    let mut left = one.log.next().await;
    while matches!(left, Ok(Delivery::Records(..))) {
        left = one.log.next().await;
    }
    assert_eq!(left, Err(LogError::Ended));
}

#[tokio::test(start_paused = true)]
async fn a_log_is_read_once_and_by_somebody() {
    let (mut publisher, logs) = memory::log(MemoryHistory::default(), 1);
    drop(logs);
    assert!(matches!(publisher.resume().await, Err(PublishError::Broken(_))));
    let (publisher, mut logs) = memory::log(MemoryHistory::default(), 1);
    logs[0].seek(0, Position::START).await.unwrap();
    assert!(matches!(logs[0].seek(0, Position::START).await, Err(LogError::Failed(_))));
    drop(publisher);
}

/// A history that cannot be written.
struct Full;

impl History for Full {
    fn remember(&mut self, _headers: &[&Header]) -> Result<(), HistoryError> {
        Err(HistoryError("the disk is full".to_owned()))
    }

    fn find_previous(&self, _block: BlockId) -> Result<Option<BlockId>, HistoryError> {
        Ok(None)
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_remembered_is_not_handed_out() {
    let (mut publisher, logs) = memory::log(Full, 1);
    let mut one = Consumer::open(logs.into_iter().next().unwrap(), Position::START, vec![]).await;
    assert_eq!(publisher.resume().await, Ok(None));
    let refused = publisher.publish(batch(None, blocks(b'a', None, 1))).await;
    assert_eq!(refused, Err(PublishError::Broken("the disk is full".to_owned())));
    one.is_handed_nothing().await;
}

/// Chains that fork, a process that ends and starts again, and consumers that took all of what was published before,
/// some of it or nothing: in the end everybody has the same chain.
#[tokio::test(start_paused = true)]
async fn consumers_that_lost_different_parts_agree_in_the_end() {
    let given: Option<u64> = env::var("MOJOSCAN_SEED").ok().map(|text| text.parse().unwrap());
    for seed in given.map_or_else(|| (0..20).map(|_| fastrand::u64(..)).collect(), |seed| vec![seed]) {
        eprintln!("MOJOSCAN_SEED={seed}");
        agree(&mut fastrand::Rng::with_seed(seed)).await;
    }
}

async fn agree(rng: &mut fastrand::Rng) {
    let mut known: BTreeMap<BlockId, BlockEvents> = BTreeMap::new();
    let mut chain: Vec<BlockId> = vec![];
    let mut consumers = [const { (Position::START, vec![]) }; 3];
    for round in 0..30 {
        // the chain forks now and then, and grows
        chain.truncate(chain.len() - rng.usize(..=chain.len().min(4)));
        let grown = blocks(b'A' + round, chain.last().copied(), rng.u32(1..5));
        chain.extend(grown.iter().map(|block| block.header.id));
        known.extend(grown.into_iter().map(|block| (block.header.id, block)));

        let (mut publisher, logs) = memory::log(history(known.values()), 3);
        let mut open = vec![];
        for (log, (position, held)) in logs.into_iter().zip(consumers) {
            open.push(Consumer::open(log, position, held).await);
        }
        let at = publisher.resume().await.unwrap();
        let mut base = at;
        while base.is_some_and(|base| !chain.contains(&base)) {
            base = publisher.find_previous(base.unwrap_or(chain[0])).await.unwrap();
        }
        let mut rewind = (base != at).then_some(RewindTo(base));
        let missing = &chain[base.map_or(0, |base| base.height as usize + 1)..];
        let cut = rng.usize(..=missing.len());
        for part in [&missing[..cut], &missing[cut..]] {
            let blocks = part.iter().map(|id| known[id].clone()).collect();
            publisher.publish(batch(rewind.take(), blocks)).await.unwrap();
        }
        drop(publisher);
        let last = round == 29;
        for consumer in &mut open {
            let takes = if last { 2 } else { rng.usize(..=2) };
            for _ in 0..takes {
                // who is ahead may be handed nothing
                let Ok(Delivery::Records(_, records, _)) = consumer.log.next().await else { break };
                for record in records {
                    consumer.accept(record);
                }
            }
            if last {
                assert_eq!(consumer.held, chain);
                assert_eq!(consumer.ledger.position().block, chain.last().copied());
            }
        }
        let left = open.into_iter().map(|consumer| (consumer.ledger.position(), consumer.held));
        consumers = left.collect::<Vec<_>>().try_into().unwrap();
    }
}
