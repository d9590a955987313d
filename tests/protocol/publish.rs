//! From the node to the log: two ingestors that both believe to be the one, and a broker.
//!
//! What flows in: the peaks of a node, a reorg among them. What flows out: the records of two partitions, one of the
//! coins topic and that of the blocks topic. An ingestor
//!
//! 1. initialises a producer, which fences every older one and settles the transaction that it left open;
//! 2. reads the log's end: the last block, the epoch and the last number of each partition. The last record of every
//!    transaction, a watermark in the blocks topic, says all of that;
//! 3. sends what is missing in one transaction: a rewind first if the node has left that block, then blocks, then
//!    watermarks; without anything new it may send watermarks alone, to say that it is alive;
//! 4. asks for the commit. If it hears that it was done it goes on with 3; if it is fenced it ends; if it hears nothing
//!    it throws the producer away and goes on with 1.
//!
//! It may be killed at any time, and paused for as long as it likes. A request to commit may reach the broker much later
//! than it was sent, or never. The broker shows a commit in one partition before the other.

use super::chain::{Block, Body, Record, is_sound};
use stateright::{Model, Property};

/// What keeps the log sound. A mutant of the model goes without one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The broker refuses what an older producer sends.
    OlderProducersAreFenced,
    /// A transaction is seen as a whole or not at all.
    BatchesAreTransactions,
    /// The log's end is read after the producer is initialised, not before.
    EndIsReadAfterFencing,
    /// After an unknown outcome the log's end is read again, not remembered.
    EndIsReadAgain,
    /// After an unknown outcome the producer is thrown away.
    ProducersAreThrownAway,
    /// Every transaction ends with a record that says where each partition stands, not only those with blocks.
    EveryTransactionTellsItsEnd,
    /// The last block published is looked for on the node's chain before anything is sent.
    ForksAreLookedFor,
    /// A rewind raises the epoch.
    RewindsRaiseTheEpoch,
}

/// The node's peaks, one after the other.
const PEAKS: [Block; 2] = [Block::TwoA, Block::ThreeB];
/// How often a producer is initialised, in all.
const PRODUCERS: u8 = 3;
/// How often an ingestor says that it is alive, in all.
const HEARTBEATS: usize = 1;
const COINS: usize = 0;
const BLOCKS: usize = 1;

/// Two ingestors, a broker and a node.
#[derive(Default)]
pub(crate) struct Publish {
    pub(crate) without: Option<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// Which of [`PEAKS`] the node has.
    peak: usize,
    broker: Broker,
    ingestors: [Ingestor; 2],
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Broker {
    /// The newest producer's epoch; nothing to do with the epoch of records.
    producer: u8,
    /// What the open transaction has sent to each partition.
    open: [Vec<Record>; 2],
    /// Commits that were asked for and have not arrived, by producer.
    requests: Vec<u8>,
    /// Partitions in which a commit is not seen yet.
    committing: Vec<usize>,
    /// The producers whose transaction was committed.
    committed: Vec<u8>,
    /// What a consumer sees.
    partitions: [Vec<Record>; 2],
}

/// The log's end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct End {
    block: Option<Block>,
    epoch: u8,
    seq: [u8; 2],
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Ingestor {
    /// It runs no producer. It may remember an end of the log, which only a mutant uses.
    Down(Option<End>),
    Initialised(u8),
    Ready(u8, End),
    /// What is still to be sent, and the end once it is committed.
    Sending {
        producer: u8,
        batch: [Vec<Record>; 2],
        before: End,
        after: End,
    },
    /// It has asked for the commit.
    Waiting {
        producer: u8,
        before: End,
        after: End,
    },
    /// It has learned that there is a newer one, and exited.
    Fenced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The node has a new peak.
    Peak,
    Initialise(usize),
    ReadEnd(usize),
    /// Makes a transaction of this many blocks at most.
    Begin(usize, usize),
    /// Sends the records for a partition.
    Send(usize, usize),
    AskForCommit(usize),
    /// A request to commit reaches the broker.
    Arrive(u8),
    /// A commit is seen in a partition.
    Show(usize),
    HearOfCommit(usize),
    /// An ingestor has waited long enough for an answer.
    GiveUp(usize),
    Crash(usize),
}

impl Ingestor {
    fn waits_for(&self, commit_of: u8) -> bool {
        matches!(self, Self::Waiting { producer, .. } if *producer == commit_of)
    }
}

impl End {
    /// Reads it from the blocks topic.
    fn of(blocks: &[Record], every_transaction: bool) -> Self {
        let told = blocks.iter().rev().find_map(|record| match record.body {
            Body::Watermark { block, coins_seq, .. } if every_transaction || is_of_block(blocks, record) => {
                Some(Self { block: Some(block), epoch: record.epoch, seq: [coins_seq, record.seq] })
            }
            _ => None,
        });
        told.unwrap_or_default()
    }

    fn push(&mut self, partition: usize, body: Body, batch: &mut [Vec<Record>; 2]) {
        self.seq[partition] += 1;
        batch[partition].push(Record { seq: self.seq[partition], epoch: self.epoch, body });
    }
}

/// Whether a watermark stands right behind the record of a block.
fn is_of_block(blocks: &[Record], watermark: &Record) -> bool {
    let before = usize::from(watermark.seq).checked_sub(2).and_then(|index| blocks.get(index));
    before.is_some_and(|record| matches!(record.body, Body::Of(..)))
}

impl Publish {
    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    /// The next transaction behind an end: its records, and the end behind it.
    fn batch(&self, mut end: End, peak: Block, blocks_max: usize) -> ([Vec<Record>; 2], End) {
        let mut batch = [vec![], vec![]];
        let chain = peak.chain();
        let known = |block: &Block| chain.contains(block) || !self.has(Rule::ForksAreLookedFor);
        let fork = end.block.map(Block::chain).unwrap_or_default().into_iter().rev().find(known);
        if fork != end.block {
            end.epoch += u8::from(self.has(Rule::RewindsRaiseTheEpoch));
            for partition in [COINS, BLOCKS] {
                end.push(partition, Body::Rewind { to: fork }, &mut batch);
            }
        }
        let from = fork.map_or(0, |block| usize::from(block.height()));
        let news = &chain[from.min(chain.len())..];
        for block in news.iter().take(blocks_max) {
            for event in block.events() {
                end.push(COINS, Body::Of(*block, Some(*event)), &mut batch);
            }
            end.push(BLOCKS, Body::Of(*block, None), &mut batch);
        }
        end.block = news.iter().take(blocks_max).next_back().copied().or(fork);
        if let Some(block) = end.block {
            end.push(COINS, Body::Watermark { block, previous: fork, coins_seq: 0 }, &mut batch);
            let coins_seq = end.seq[COINS];
            end.push(BLOCKS, Body::Watermark { block, previous: fork, coins_seq }, &mut batch);
        }
        (batch, end)
    }

    /// Whether the broker still listens to a producer.
    fn accepts(&self, broker: &Broker, producer: u8) -> bool {
        producer == broker.producer || !self.has(Rule::OlderProducersAreFenced)
    }

    fn broker_acts(&self, broker: &mut Broker, action: Action) {
        match action {
            Action::Arrive(producer) => {
                broker.requests.retain(|request| *request != producer);
                if self.accepts(broker, producer) && broker.open != [vec![], vec![]] {
                    broker.committing = vec![COINS, BLOCKS];
                    broker.committed.push(producer);
                }
            }
            Action::Show(partition) => {
                broker.committing.retain(|waiting| *waiting != partition);
                let records = std::mem::take(&mut broker.open[partition]);
                broker.partitions[partition].extend(records);
            }
            _ => {}
        }
    }

    fn ingestor_acts(
        &self,
        broker: &mut Broker,
        ingestor: Ingestor,
        peak: Block,
        action: Action,
    ) -> Ingestor {
        let end = End::of(&broker.partitions[BLOCKS], self.has(Rule::EveryTransactionTellsItsEnd));
        match (action, ingestor) {
            (Action::Initialise(_), Ingestor::Down(remembered)) => {
                broker.producer += 1;
                broker.open = [vec![], vec![]];
                match remembered {
                    Some(end) => Ingestor::Ready(broker.producer, end),
                    None => Ingestor::Initialised(broker.producer),
                }
            }
            (Action::ReadEnd(_), Ingestor::Down(_)) => Ingestor::Down(Some(end)),
            (Action::ReadEnd(_), Ingestor::Initialised(producer)) => Ingestor::Ready(producer, end),
            (Action::Begin(_, blocks_max), Ingestor::Ready(producer, before)) => {
                let (batch, after) = self.batch(before, peak, blocks_max);
                Ingestor::Sending { producer, batch, before, after }
            }
            (Action::Send(_, partition), Ingestor::Sending { producer, mut batch, before, after }) => {
                if !self.accepts(broker, producer) {
                    return Ingestor::Fenced;
                }
                let records = std::mem::take(&mut batch[partition]);
                if self.has(Rule::BatchesAreTransactions) {
                    broker.open[partition].extend(records);
                } else {
                    broker.partitions[partition].extend(records);
                }
                Ingestor::Sending { producer, batch, before, after }
            }
            (Action::AskForCommit(_), Ingestor::Sending { producer, before, after, .. }) => {
                broker.requests.push(producer);
                Ingestor::Waiting { producer, before, after }
            }
            (Action::HearOfCommit(_), Ingestor::Waiting { producer, after, .. }) => {
                broker.committed.retain(|committed| *committed != producer);
                Ingestor::Ready(producer, after)
            }
            (Action::GiveUp(_), Ingestor::Waiting { producer, before, .. }) => match self.without {
                Some(Rule::EndIsReadAgain) => Ingestor::Down(Some(before)),
                Some(Rule::ProducersAreThrownAway) => Ingestor::Initialised(producer),
                _ => Ingestor::Down(None),
            },
            (_, _) => Ingestor::Down(None),
        }
    }

    fn ingestor_actions(&self, state: &State, who: usize, actions: &mut Vec<Action>) {
        let settled = state.broker.committing.is_empty();
        match &state.ingestors[who] {
            Ingestor::Down(remembered) => {
                if !self.has(Rule::EndIsReadAfterFencing) && remembered.is_none() {
                    actions.push(Action::ReadEnd(who));
                } else if state.broker.producer < PRODUCERS && settled {
                    actions.push(Action::Initialise(who));
                }
                return;
            }
            Ingestor::Initialised(_) => actions.push(Action::ReadEnd(who)),
            Ingestor::Ready(_, end) if end.block == Some(PEAKS[state.peak]) => {
                if heartbeats(&state.broker.partitions[BLOCKS]) < HEARTBEATS {
                    actions.push(Action::Begin(who, 0));
                }
            }
            Ingestor::Ready(..) => actions.extend([Action::Begin(who, 1), Action::Begin(who, 2)]),
            Ingestor::Sending { batch, producer, .. } => {
                let next = batch.iter().position(|records| !records.is_empty());
                match next {
                    // the broker takes nothing new from a producer whose commit is under way
                    Some(partition) if settled || *producer != state.broker.producer => {
                        actions.push(Action::Send(who, partition));
                    }
                    Some(_) => {}
                    None => actions.push(Action::AskForCommit(who)),
                }
            }
            Ingestor::Waiting { producer, .. } => {
                if state.broker.committed.contains(producer) {
                    actions.push(Action::HearOfCommit(who));
                }
                actions.push(Action::GiveUp(who));
            }
            Ingestor::Fenced => return,
        }
        actions.push(Action::Crash(who));
    }
}

fn heartbeats(blocks: &[Record]) -> usize {
    let alone =
        |record: &&Record| matches!(record.body, Body::Watermark { .. }) && !is_of_block(blocks, record);
    blocks.iter().filter(alone).count()
}

impl Model for Publish {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let ingestors = [Ingestor::Down(None), Ingestor::Down(None)];
        vec![State { peak: 0, broker: Broker::default(), ingestors }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.peak + 1 < PEAKS.len() {
            actions.push(Action::Peak);
        }
        actions.extend(state.broker.requests.iter().map(|producer| Action::Arrive(*producer)));
        actions.extend(state.broker.committing.iter().map(|partition| Action::Show(*partition)));
        for who in 0..state.ingestors.len() {
            self.ingestor_actions(state, who, actions);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        match action {
            Action::Peak => next.peak += 1,
            Action::Arrive(_) | Action::Show(_) => self.broker_acts(&mut next.broker, action),
            Action::Initialise(who)
            | Action::ReadEnd(who)
            | Action::Begin(who, _)
            | Action::Send(who, _)
            | Action::AskForCommit(who)
            | Action::HearOfCommit(who)
            | Action::GiveUp(who)
            | Action::Crash(who) => {
                let ingestor = last.ingestors[who].clone();
                next.ingestors[who] =
                    self.ingestor_acts(&mut next.broker, ingestor, PEAKS[last.peak], action);
            }
        }
        // what nobody can ask for any more, and which ingestor is which, makes no difference
        next.broker.committed.retain(|producer| next.ingestors.iter().any(|one| one.waits_for(*producer)));
        next.ingestors.sort_unstable();
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("each partition is a gapless chain", |_, state: &State| {
                state.broker.partitions.iter().all(|partition| is_sound(partition))
            }),
            Property::always("both partitions tell the same", |_, state: &State| {
                let [coins, blocks] = &state.broker.partitions;
                let told = End::of(blocks, true).seq;
                !state.broker.committing.is_empty() || told == [coins.len() as u8, blocks.len() as u8]
            }),
            Property::sometimes("the log ends where the node does, after a reorg", |_, state: &State| {
                let end = End::of(&state.broker.partitions[BLOCKS], true);
                end.block == PEAKS.last().copied() && end.epoch == 1
            }),
        ]
    }
}
