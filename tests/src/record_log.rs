//! The record log from outside: made-up blocks to publish, a reader that follows the rules and keeps what is not void,
//! and what every log must do.

use crate::wait;
use fastrand::Rng;
use mojoscan_domain::record::{CoinCreated, CoinEvent, Memos, Place, Record, Sequenced, Watermark};
use mojoscan_domain::{Asset, BlockId, Bytes32, Coin, Header, Position};
use mojoscan_pipeline::{
    Accepted, BlockEvents, Broken, Delivery, Ledger, LogError, Partition, PublishBatch, PublishError,
    Publisher, RecordLog, RewindTo,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A chain of made-up blocks, as it was published.
#[derive(Debug, Clone, Default)]
pub struct Published {
    /// Its blocks, from block 0 on.
    pub blocks: Vec<BlockEvents>,
}

impl Published {
    /// The last block; none of an empty chain.
    pub fn tip(&self) -> Option<BlockId> {
        self.blocks.last().map(|block| block.header.id)
    }

    /// Adds blocks, and gives them as a batch.
    pub fn grow(&mut self, blocks: usize, rng: &mut Rng) -> PublishBatch {
        let from = self.blocks.len();
        for _ in 0..blocks {
            let block = self.next(rng);
            self.blocks.push(block);
        }
        self.batch(None, from)
    }

    /// Takes blocks away and adds others, and gives that as a batch.
    pub fn fork(&mut self, depth: usize, blocks: usize, rng: &mut Rng) -> PublishBatch {
        let kept = self.blocks.len() - depth;
        self.blocks.truncate(kept);
        let rewind = Some(RewindTo(self.tip()));
        self.grow(blocks, rng);
        self.batch(rewind, kept)
    }

    /// What says only that the chain was heard from.
    pub fn heard(&self, heard_at_ms: u64) -> PublishBatch {
        PublishBatch { heard_at_ms: Some(heard_at_ms), ..self.batch(None, self.blocks.len()) }
    }

    /// Everything that happened, in order.
    pub fn events(&self) -> Vec<(Place, CoinEvent)> {
        let events = self.blocks.iter().flat_map(|block| {
            let (id, timestamp) = (block.header.id, block.header.timestamp.unwrap());
            let place = move |index| Place { block: id, timestamp, index };
            (0..).zip(&block.coins).map(move |(index, event)| (place(index), event.clone()))
        });
        events.collect()
    }

    fn batch(&self, rewind: Option<RewindTo>, from: usize) -> PublishBatch {
        let peak_height = self.tip().map_or(0, |tip| tip.height);
        PublishBatch { rewind, blocks: self.blocks[from..].to_vec(), peak_height, heard_at_ms: None }
    }

    fn next(&self, rng: &mut Rng) -> BlockEvents {
        let mut bytes = || Bytes32::new(std::array::from_fn(|_| rng.u8(..)));
        let id = BlockId { height: u32::try_from(self.blocks.len()).unwrap(), hash: bytes() };
        let header = Header {
            id,
            previous_hash: self.tip().map_or(Bytes32::ZERO, |tip| tip.hash),
            timestamp: Some(1_700_000_000 + u64::from(id.height)),
            weight: u128::MAX - u128::from(id.height),
            total_iterations: 1,
            fees: 2,
            rewards: 3,
            cost: 4,
            created: 5,
            spent: 0,
        };
        let coins = (0..rng.usize(..20)).map(|_| created(rng)).collect();
        BlockEvents { header, coins }
    }
}

fn created(rng: &mut Rng) -> CoinEvent {
    let memo = (0..rng.usize(..40)).map(|_| rng.u8(..)).collect();
    let mut bytes = || Bytes32::new(std::array::from_fn(|_| rng.u8(..)));
    let (parent, owner) = (bytes(), bytes());
    let coin = Coin { parent, puzzle_hash: owner, amount: 1 };
    CoinEvent::Created(CoinCreated {
        id: coin.id(),
        coin,
        owner,
        asset: Asset::XCH,
        memos: Memos { items: vec![memo], truncated: false },
        sender: None,
        transaction: None,
        passing: false,
    })
}

/// What a reader keeps of a partition, beside where it stands.
#[derive(Debug, Clone, Default)]
struct Kept {
    position: Option<Position>,
    /// What is not void, in order.
    events: Vec<(Place, CoinEvent)>,
    watermark: Option<Watermark>,
    broken: Option<Broken>,
}

/// Where readers keep what they have read: the store that they share.
#[derive(Debug, Clone, Default)]
pub struct Shelf(Arc<Mutex<BTreeMap<Partition, Kept>>>);

impl Shelf {
    /// Where a partition stands.
    pub fn position(&self, partition: Partition) -> Position {
        self.0.lock().unwrap().get(&partition).and_then(|kept| kept.position).unwrap_or(Position::START)
    }

    /// Everything that is kept, in the order in which it happened.
    pub fn events(&self) -> Vec<(Place, CoinEvent)> {
        let kept = self.0.lock().unwrap();
        let mut events: Vec<_> = kept.values().flat_map(|kept| kept.events.iter().cloned()).collect();
        events.sort_by_key(|(place, _)| (place.block.height, place.index));
        events
    }

    /// Waits until these partitions end in a block.
    pub async fn reach(&self, partitions: impl IntoIterator<Item = Partition>, block: Option<BlockId>) {
        let partitions: Vec<_> = partitions.into_iter().collect();
        wait::until(&format!("{partitions:?} at {block:?}"), async || {
            partitions.iter().all(|partition| self.position(*partition).block == block).then_some(())
        })
        .await;
    }

    /// Waits until a partition breaks, and says how.
    pub async fn broken(&self, partition: Partition) -> Broken {
        wait::until("a partition to break", async || {
            self.0.lock().unwrap().get(&partition).and_then(|kept| kept.broken.clone())
        })
        .await
    }

    /// Waits until these partitions were told that the chain was heard from at this time.
    pub async fn heard(&self, partitions: impl IntoIterator<Item = Partition>, at_ms: u64) {
        let partitions: Vec<_> = partitions.into_iter().collect();
        let heard = |kept: &Kept| kept.watermark.and_then(|watermark| watermark.heard_at_ms) == Some(at_ms);
        wait::until("the chain to be heard from", async || {
            let kept = self.0.lock().unwrap();
            partitions.iter().all(|partition| kept.get(partition).is_some_and(heard)).then_some(())
        })
        .await;
    }

    fn change(&self, partition: Partition, change: impl FnOnce(&mut Kept)) {
        change(self.0.lock().unwrap().entry(partition).or_default());
    }
}

/// Follows a log by the rules.
pub struct Reader {
    task: JoinHandle<()>,
    open: watch::Receiver<usize>,
}

impl Reader {
    /// Begins where the shelf stands.
    pub fn start(mut log: impl RecordLog<Event = CoinEvent>, shelf: &Shelf) -> Self {
        let shelf = shelf.clone();
        let (count, open) = watch::channel(0);
        let task = tokio::spawn(async move {
            let mut open = BTreeMap::new();
            loop {
                match log.next().await {
                    Ok(delivery) => take(delivery, &mut log, &mut open, &shelf).await,
                    Err(LogError::Ended) => return,
                    Err(error) => panic!("{error}"),
                }
                count.send_replace(open.len());
            }
        });
        Self { task, open }
    }

    /// How many partitions it reads.
    pub fn open(&self) -> usize {
        *self.open.borrow()
    }

    /// Lets go of the log.
    pub async fn stop(self) {
        self.task.abort();
        let ended = self.task.await;
        assert!(ended.is_ok() || ended.is_err_and(|error| error.is_cancelled()), "the reader has failed");
    }
}

/// A partition that is read.
struct Open {
    ledger: Ledger,
    /// What no watermark has confirmed yet.
    waiting: Vec<(Place, CoinEvent)>,
    /// A record did not fit: nothing behind it is read.
    stopped: bool,
}

async fn take(
    delivery: Delivery<CoinEvent>,
    log: &mut impl RecordLog<Event = CoinEvent>,
    open: &mut BTreeMap<Partition, Open>,
    shelf: &Shelf,
) {
    match delivery {
        Delivery::Assigned(partition) => {
            let position = shelf.position(partition);
            open.insert(partition, Open { ledger: Ledger::new(position), waiting: vec![], stopped: false });
            log.seek(partition, position).await.unwrap();
        }
        Delivery::Revoked(partition) => drop(open.remove(&partition)),
        Delivery::Broken(partition, broken) => shelf.change(partition, |kept| kept.broken = Some(broken)),
        Delivery::Records(partition, records, _) => {
            let open = open.get_mut(&partition).unwrap_or_else(|| panic!("{partition} is not assigned"));
            for record in records {
                keep(partition, record, open, shelf);
            }
        }
    }
}

fn keep(partition: Partition, record: Sequenced<CoinEvent>, open: &mut Open, shelf: &Shelf) {
    if open.stopped {
        return;
    }
    match open.ledger.accept(&record) {
        Ok(Accepted::Repeat) => panic!("{partition}: a repeat of {record:?}"),
        Ok(Accepted::New) => {}
        Err(broken) => {
            open.stopped = true;
            return shelf.change(partition, |kept| kept.broken = Some(broken));
        }
    }
    let position = Some(open.ledger.position());
    match record.record {
        Record::Event(place, event) => open.waiting.push((place, event)),
        Record::Watermark(watermark) => shelf.change(partition, |kept| {
            kept.events.append(&mut open.waiting);
            kept.watermark = Some(watermark);
            kept.position = position;
        }),
        Record::Rewind(rewind) => shelf.change(partition, |kept| {
            let above = |place: &Place| rewind.to.is_none_or(|to| place.block.height > to.height);
            kept.events.retain(|(place, _)| !above(place));
            kept.position = position;
        }),
    }
}

/// What every log does. Both ends begin at the beginning; the log has so many partitions.
///
/// # Errors
/// If something could not be published.
pub async fn suite(
    publisher: &mut impl Publisher,
    log: impl RecordLog<Event = CoinEvent>,
    partitions: Partition,
    rng: &mut Rng,
) -> Result<(), PublishError> {
    let (shelf, mut chain) = (Shelf::default(), Published::default());
    let reader = Reader::start(log, &shelf);
    let agree = async |chain: &Published| {
        shelf.reach(0..partitions, chain.tip()).await;
        assert_eq!(shelf.events(), chain.events());
    };
    assert_eq!(publisher.resume().await?, None);
    publisher.publish(chain.heard(1)).await?;
    for blocks in [1, 5, 30] {
        publisher.publish(chain.grow(blocks, rng)).await?;
    }
    agree(&chain).await;

    publisher.publish(chain.heard(2)).await?;
    shelf.heard(0..partitions, 2).await;
    agree(&chain).await;

    let void = chain.clone();
    for (depth, blocks) in [(10, 4), (3, 0)] {
        publisher.publish(chain.fork(depth, blocks, rng)).await?;
        agree(&chain).await;
    }
    assert_eq!(publisher.resume().await?, chain.tip());
    publisher.publish(chain.grow(3, rng)).await?;
    agree(&chain).await;
    knows(publisher, &chain).await?;
    knows(publisher, &void).await?;
    let unknown = BlockId { height: 7, hash: Bytes32::ZERO };
    assert_eq!(publisher.find_previous(unknown).await?, None);

    let all = chain.blocks.len();
    for batch in [chain.fork(all, 0, rng), chain.grow(2, rng)] {
        publisher.publish(batch).await?;
    }
    agree(&chain).await;
    reader.stop().await;
    Ok(())
}

/// Every block is known with the one before, also if it is void.
async fn knows(publisher: &mut impl Publisher, chain: &Published) -> Result<(), PublishError> {
    for block in chain.blocks.iter().rev() {
        assert_eq!(publisher.find_previous(block.header.id).await?, block.header.previous());
    }
    Ok(())
}
