//! From the log to rows, and from rows to answers: two consumers that both believe the partition to be theirs, and a
//! reader.
//!
//! What flows in: the records of one partition. What flows out: rows in a CQL store, and answers. A step of the model
//! is one statement that the store has taken, so between any two steps of a consumer anything may happen: it is paused
//! (the other goes on, and it wakes up much later), it is killed and started again, the reader looks. A consumer that is
//! never heard of again is one that is paused for ever.
//!
//! A consumer takes a batch, that is the records up to a watermark or a rewind, and
//!
//! | | commit | rewind, of sequence number r |
//! |---|---|---|
//! | 0 | load the prior state, then read the position again | |
//! | 1 | journal: which keys, at which height | position: the target, marked as undoing |
//! | 2 | rows | delete what every journaled key has above the target |
//! | 3 | position | forget the journal above the target |
//! | 4 | | delete the mark |
//!
//! Each line is acknowledged before the next begins. Every statement has a timestamp from the log: a row the number of
//! the record that caused it, the position that of the watermark, everything of a rewind r. At its start a consumer
//! reads the position, and ends the rewind that it finds under way.
//!
//! A reader reads the position, then rows at or below its height, then the position again: another epoch, and it knows
//! nothing.

use super::chain::{Block, Body, Event, Height, Record};
use super::store::{CLOCK, Key, Position, Row, Rows, Store};
use stateright::{Model, Property};
use std::collections::BTreeMap;

/// What keeps the answers right. A mutant of the model goes without one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A record is taken only if its number is the next.
    NumbersAreChecked,
    /// A batch ends at a watermark.
    BatchesAreWhole,
    /// The prior state is that at the position, not the newest.
    PriorIsAtPosition,
    /// The position is read again after the prior state, and in another epoch what was loaded is thrown away.
    LoadsAreConfirmed,
    /// The journal is written before the position moves over what it tells of.
    JournalBeforePosition,
    /// A commit moves the position once all rows are there.
    RowsBeforePosition,
    /// A rewind moves the position before the first row goes.
    PositionBeforeRemoval,
    /// A rewind raises the epoch of the position.
    RewindsRaiseTheEpoch,
    /// A rewind takes rows away.
    RewindsRemoveRows,
    /// A rewind ends by forgetting the journal of what it took away.
    JournalIsForgotten,
    /// The mark stays until all rows are gone.
    MarkGoesLast,
    /// The mark goes by a deletion, which outdoes the mark at the same timestamp.
    MarkIsDeleted,
    /// A rewind that was interrupted is ended before anything else.
    RewindsAreEnded,
    /// Timestamps of rows come from the log, not from a clock.
    RowsHaveLogTime,
    /// Timestamps of positions come from the log, not from a clock.
    PositionsHaveLogTime,
    /// Timestamps grow from fork to fork: a height would not do.
    TimeGrowsOverForks,
    /// A reader reads the position again.
    ReadsAreConfirmed,
    /// A reader sees no balance above its height.
    BalancesAreMasked,
    /// A reader sees no spend above its height.
    SpendsAreMasked,
}

/// What an adapter is free to choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Choices {
    /// The timestamp of a row is the number of the batch's watermark, not of the record that caused it.
    pub(crate) stamps_by_batch: bool,
    /// The journal is written after the rows, not before.
    pub(crate) journal_after_rows: bool,
    /// A rewind looks which rows are there and deletes those only. It has applied them all before, so that late ones
    /// find a deletion in their place.
    pub(crate) removes_what_is_there: bool,
}

/// The consumers and the reader of one partition.
pub(crate) struct Consume {
    pub(crate) log: Vec<Record>,
    /// What a clean rebuild to no block and to each block makes.
    pub(crate) clean: Vec<Rows>,
    /// How many consumers believe the partition to be theirs.
    pub(crate) consumers: usize,
    /// Whether there is a reader.
    pub(crate) reader: bool,
    pub(crate) choices: Choices,
    pub(crate) without: Option<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    store: Store,
    consumers: Vec<Consumer>,
    reader: Reader,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Consumer {
    /// Everything up to here is done.
    Ready(Position),
    /// It has loaded the prior state and knows what to write.
    Loaded { at: Position, to: Position, writes: Vec<Write> },
    /// It writes.
    Writing { to: Position, writes: Vec<Write> },
}

/// A statement, and its turn: those of a lower one are acknowledged before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Write {
    turn: u8,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum What {
    /// The keys touched at a height, one bit each, and the timestamp.
    Journal(Height, u8, u8),
    Row(Key, Row, u8),
    Advance,
    Retreat,
    /// Not a statement yet: it reads the journal, and becomes a removal for each key.
    FindKeys,
    Remove(Key),
    Forget,
    Unmark,
}

/// It reads one row, which is enough: an answer is wrong if one of its rows is. Where there is no reader in a model,
/// the property about what the position covers does its work: within an epoch positions only grow, so that a row that a
/// reader could find wrong is wrong for the position of that moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Reader {
    Idle,
    /// It has read the position, and is to answer for this block at or below it.
    Open(Position, Option<Block>),
    /// It has read a row that is not the block's.
    Wrong(Position),
    /// It has given a wrong answer.
    Misled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Kills a consumer, wherever it is, and starts it.
    Restart(usize),
    /// Takes the records from the first to the second number; loads, if it is a commit.
    Take(usize, u8, u8),
    Confirm(usize),
    /// The store takes the next statement.
    Write(usize),
    OpenRead(Option<Block>),
    ReadRow(Key),
    CloseRead,
}

impl Consume {
    pub(crate) fn new(log: Vec<Record>) -> Self {
        let clean = [None].into_iter().chain(Block::ALL.map(Some)).map(rebuild).collect();
        Self { log, clean, consumers: 2, reader: true, choices: Choices::default(), without: None }
    }

    /// What a clean rebuild to a block makes.
    fn clean(&self, block: Option<Block>) -> &Rows {
        &self.clean[block.map_or(0, |block| 1 + block as usize)]
    }

    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    fn record(&self, seq: u8) -> Option<&Record> {
        self.log.get(usize::from(seq).checked_sub(1)?)
    }

    /// Where a partition is after a record; none where nothing ends.
    fn end(&self, record: &Record) -> Option<Position> {
        let block = match record.body {
            Body::Watermark { block, .. } => Some(block),
            Body::Rewind { to } => to,
            Body::Of(block, _) if !self.has(Rule::BatchesAreWhole) => Some(block),
            Body::Of(..) => return None,
        };
        let epoch = if self.has(Rule::RewindsRaiseTheEpoch) { record.epoch } else { 0 };
        Some(Position { seq: record.seq, epoch, block })
    }

    /// The batches that may come from the log next: one rewind, or one watermark or two.
    ///
    /// A log may deliver something again, or leave something out: that is dropped, or stops the partition.
    fn batches(&self, at: Position) -> Vec<(u8, u8)> {
        let last = self.log.len() as u8;
        let firsts = if self.has(Rule::NumbersAreChecked) { at.seq + 1..=at.seq + 1 } else { 1..=last };
        firsts.flat_map(|first| self.batches_from(first).map(move |end| (first, end))).collect()
    }

    fn batches_from(&self, first: u8) -> impl Iterator<Item = u8> {
        let is_rewind = |record: &&Record| matches!(record.body, Body::Rewind { .. });
        let rest = self.log.iter().skip(usize::from(first) - 1);
        let alone = rest.clone().take(1).filter(is_rewind);
        let together = rest.take_while(move |record| !is_rewind(record));
        alone.chain(together).filter(|record| self.end(record).is_some()).map(|record| record.seq).take(2)
    }

    /// What a consumer at a position does about the records of a batch.
    fn take(&self, store: &Store, at: Position, first: u8, last: u8) -> Option<Consumer> {
        let to = self.end(self.record(last)?)?;
        if matches!(self.record(first)?.body, Body::Rewind { .. }) {
            return Some(Consumer::Writing { to, writes: self.rewind(true) });
        }
        let prior = if self.has(Rule::PriorIsAtPosition) { at.height() } else { Height::MAX };
        let records = &self.log[usize::from(first) - 1..usize::from(last)];
        let writes = self.commit(changes(store.rows, prior, records), to);
        Some(if self.has(Rule::LoadsAreConfirmed) {
            Consumer::Loaded { at, to, writes }
        } else {
            Consumer::Writing { to, writes }
        })
    }

    fn commit(&self, changes: Vec<Change>, to: Position) -> Vec<Write> {
        let rows = 2;
        let journal = match self.choices.journal_after_rows {
            _ if !self.has(Rule::JournalBeforePosition) => 5,
            true => 3,
            false => 1,
        };
        let position = if self.has(Rule::RowsBeforePosition) { 4 } else { 1 };
        let mut writes = vec![Write { turn: position, what: What::Advance }];
        let mut touched: BTreeMap<Height, (u8, u8)> = BTreeMap::new();
        for Change { key, row, seq } in changes {
            let seq = if self.choices.stamps_by_batch { to.seq } else { seq };
            writes.push(Write { turn: rows, what: What::Row(key, row, seq) });
            let (keys, newest) = touched.entry(row.height).or_default();
            (*keys, *newest) = (*keys | key.bit(), seq.max(*newest));
        }
        let journals = touched.into_iter().map(|(height, (keys, seq))| What::Journal(height, keys, seq));
        writes.extend(journals.map(|what| Write { turn: journal, what }));
        writes.sort_unstable();
        writes
    }

    fn rewind(&self, from_its_beginning: bool) -> Vec<Write> {
        let position = if self.has(Rule::PositionBeforeRemoval) { 1 } else { 4 };
        let unmark = if self.has(Rule::MarkGoesLast) { 5 } else { 1 };
        let mut writes = vec![Write { turn: unmark, what: What::Unmark }];
        if from_its_beginning {
            writes.push(Write { turn: position, what: What::Retreat });
        }
        if self.has(Rule::RewindsRemoveRows) {
            writes.push(Write { turn: 2, what: What::FindKeys });
        }
        if self.has(Rule::JournalIsForgotten) {
            writes.push(Write { turn: 3, what: What::Forget });
        }
        writes.sort_unstable();
        writes
    }

    /// What is read of a key by a reader at a height.
    fn read(&self, rows: &Rows, key: Key, at: Height) -> Option<Row> {
        let masked = match key {
            Key::Balance(_) => self.has(Rule::BalancesAreMasked),
            Key::Creation(_) => true,
            Key::Spend(_) => self.has(Rule::SpendsAreMasked),
        };
        rows.newest(key, if masked { at } else { Height::MAX })
    }

    /// Carries out one statement of a consumer; a list of removals if it was only a question.
    fn write(&self, store: &mut Store, to: Position, what: What) -> Vec<Write> {
        let height = to.height();
        let place = |log_time| if self.has(Rule::PositionsHaveLogTime) { log_time } else { CLOCK };
        let time = |log_time, height| match self.without {
            Some(Rule::RowsHaveLogTime) => CLOCK,
            Some(Rule::TimeGrowsOverForks) => height,
            _ => log_time,
        };
        match what {
            What::Journal(height, keys, seq) => store.journal.write(height, keys, time(seq, height)),
            What::Row(key, row, seq) => store.rows.write(key, row, time(seq, row.height)),
            What::Advance => store.set_position(to, place(to.seq)),
            What::Retreat => {
                store.set_position(to, place(to.seq));
                store.undoing.write(to.seq, true);
            }
            What::FindKeys => {
                let keys = store.journal.keys_above(height).into_iter();
                let present =
                    |key: &Key| store.rows.newest(*key, Height::MAX).is_some_and(|row| row.height > height);
                let keys = keys.filter(|key| !self.choices.removes_what_is_there || present(key));
                return keys.map(|key| Write { turn: 2, what: What::Remove(key) }).collect();
            }
            What::Remove(key) => store.rows.delete_above(key, height, time(to.seq, 3)),
            What::Forget => store.journal.delete_above(height, time(to.seq, 3)),
            What::Unmark if self.has(Rule::MarkIsDeleted) => store.undoing.delete(to.seq),
            What::Unmark => store.undoing.write(to.seq, false),
        }
        vec![]
    }

    fn start(&self, store: &Store) -> Consumer {
        let at = store.position();
        if store.undoing.get() == Some(true) && self.has(Rule::RewindsAreEnded) {
            Consumer::Writing { to: at, writes: self.rewind(false) }
        } else {
            Consumer::Ready(at)
        }
    }

    /// Whether the log is read to its end, and nobody is at work.
    fn is_at_rest(&self, state: &State) -> bool {
        let done = |at: Position| usize::from(at.seq) == self.log.len();
        let rests = |consumer: &Consumer| match consumer {
            Consumer::Ready(_) => true,
            Consumer::Loaded { .. } | Consumer::Writing { .. } => false,
        };
        done(state.store.position()) && state.consumers.iter().all(rests)
    }
}

/// A row that a batch makes, and the number of the record that caused it.
struct Change {
    key: Key,
    row: Row,
    seq: u8,
}

/// The projection: from the prior state at a height, and records, to rows.
fn changes(prior: Rows, mut at: Height, records: &[Record]) -> Vec<Change> {
    // what the batch has written is its own prior state; newer rows, which a crash has left behind, are not
    let mut now = Rows::default();
    for key in Key::ALL {
        if let Some(row) = prior.newest(key, at) {
            now.write(key, row, 1);
        }
    }
    let mut changes: Vec<Change> = vec![];
    for record in records {
        let Body::Of(block, Some(event)) = record.body else { continue };
        at = block.height();
        for (key, value) in happened(&now, event) {
            let row = Row { height: at, value };
            now.write(key, row, 1 + record.seq);
            changes.retain(|change| (change.key, change.row.height) != (key, at));
            changes.push(Change { key, row, seq: record.seq });
        }
    }
    changes
}

fn happened(now: &Rows, event: Event) -> Vec<(Key, u8)> {
    let newest = |key| now.newest(key, Height::MAX).map(|row| row.value);
    let balance = |owner| newest(Key::Balance(owner)).unwrap_or(0);
    match event {
        Event::Created(coin, owner) => {
            vec![(Key::Creation(coin), owner as u8), (Key::Balance(owner), balance(owner) + 1)]
        }
        Event::Spent(coin, owner) => {
            let held = newest(Key::Creation(coin)) == Some(owner as u8) && newest(Key::Spend(coin)).is_none();
            if held {
                vec![(Key::Spend(coin), 0), (Key::Balance(owner), balance(owner).saturating_sub(1))]
            } else {
                vec![]
            }
        }
    }
}

/// The rows that a clean rebuild of the chain up to a block makes.
fn rebuild(block: Option<Block>) -> Rows {
    let blocks = block.map(Block::chain).unwrap_or_default();
    let log = super::chain::log(blocks.into_iter().flat_map(super::chain::block));
    let mut rows = Rows::default();
    for Change { key, row, seq } in changes(rows, 0, &log) {
        rows.write(key, row, seq);
    }
    rows
}

impl Model for Consume {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let started = Consumer::Ready(Position::default());
        let consumers = vec![started; self.consumers];
        vec![State { store: Store::default(), consumers, reader: Reader::Idle }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (who, consumer) in state.consumers.iter().enumerate() {
            actions.push(Action::Restart(who));
            match consumer {
                Consumer::Ready(at) => {
                    let batches = self.batches(*at).into_iter();
                    actions.extend(batches.map(|(first, last)| Action::Take(who, first, last)));
                }
                Consumer::Loaded { .. } => actions.push(Action::Confirm(who)),
                Consumer::Writing { .. } => actions.push(Action::Write(who)),
            }
        }
        if !self.reader {
            return;
        }
        match state.reader {
            Reader::Idle => {
                let blocks = state.store.position().block.map(Block::chain).unwrap_or_default();
                actions.extend(blocks.into_iter().map(|block| Action::OpenRead(Some(block))));
            }
            Reader::Open(..) => actions.extend(Key::ALL.map(Action::ReadRow)),
            Reader::Wrong(_) => actions.push(Action::CloseRead),
            Reader::Misled => {}
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        match action {
            Action::Restart(who) => next.consumers[who] = self.start(&last.store),
            Action::Take(who, first, end) => {
                let Consumer::Ready(at) = last.consumers[who] else { return None };
                next.consumers[who] = self.take(&last.store, at, first, end)?;
            }
            Action::Confirm(who) => {
                let Consumer::Loaded { at, to, writes } = last.consumers[who].clone() else { return None };
                let same = last.store.position().epoch == at.epoch;
                next.consumers[who] =
                    if same { Consumer::Writing { to, writes } } else { self.start(&last.store) };
            }
            Action::Write(who) => {
                let Consumer::Writing { to, writes } = &mut next.consumers[who] else { return None };
                let (to, write) = (*to, writes.remove(0));
                let more = self.write(&mut next.store, to, write.what);
                writes.splice(0..0, more);
                if writes.is_empty() {
                    next.consumers[who] = Consumer::Ready(to);
                }
            }
            Action::OpenRead(block) => next.reader = Reader::Open(last.store.position(), block),
            Action::ReadRow(key) => {
                let Reader::Open(at, block) = last.reader else { return None };
                let height = block.map_or(0, Block::height);
                let right = self.read(&last.store.rows, key, height) == self.clean(block).newest(key, height);
                next.reader = if right { Reader::Idle } else { Reader::Wrong(at) };
            }
            Action::CloseRead => {
                let Reader::Wrong(at) = last.reader else { return None };
                let same = last.store.position().epoch == at.epoch || !self.has(Rule::ReadsAreConfirmed);
                next.reader = if same { Reader::Misled } else { Reader::Idle };
            }
        }
        // it does not matter which is which
        next.consumers.sort_unstable();
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("every answer is that of the block it names", |_, state: &State| {
                state.reader != Reader::Misled
            }),
            Property::always(
                "at rest the rows are those of a clean rebuild",
                |model: &Self, state: &State| {
                    let store = &state.store;
                    !model.is_at_rest(state)
                        || (store.rows.values() == model.clean(store.position().block).values()
                            && store.undoing.get() != Some(true))
                },
            ),
            Property::always(
                "what the position covers is that of its block",
                |model: &Self, state: &State| {
                    let blocks = state.store.position().block.map(Block::chain).unwrap_or_default();
                    blocks.into_iter().all(|block| {
                        let height = block.height();
                        let right = |key| {
                            model.read(&state.store.rows, key, height)
                                == model.clean(Some(block)).newest(key, height)
                        };
                        Key::ALL.into_iter().all(right)
                    })
                },
            ),
            Property::sometimes("the end of the log is reached", |model: &Self, state: &State| {
                model.is_at_rest(state)
            }),
        ]
    }
}
