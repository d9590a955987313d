//! Checks a partition's records and cuts them into steps.

use crate::{Accepted, Broken, Ledger};
use mojoscan_domain::Position;
use mojoscan_domain::record::{Place, Record, Sequenced, Watermark};

/// One thing to do to the store.
pub(super) enum Step<E> {
    /// Apply events, up to a watermark.
    Apply { events: Vec<(Place, E)>, to: Position, watermark: Watermark },
    /// Go back.
    Rewind { to: Position },
}

/// Cuts one partition's records into steps. A step ends at a watermark, and never spans a rewind.
pub(super) struct Assembler<E> {
    ledger: Ledger,
    steps: Vec<Step<E>>,
    /// Events behind the last watermark.
    open: Vec<(Place, E)>,
    /// Events in all steps that were not taken yet.
    waiting: usize,
    step_events_max: usize,
}

impl<E> Assembler<E> {
    pub(super) const fn new(position: Position, step_events_max: usize) -> Self {
        Self { ledger: Ledger::new(position), steps: vec![], open: vec![], waiting: 0, step_events_max }
    }

    /// Takes records, up to the first one that does not fit.
    pub(super) fn push(&mut self, records: Vec<Sequenced<E>>) -> Result<(), Broken> {
        for sequenced in records {
            match self.ledger.accept(&sequenced)? {
                Accepted::Repeat => {}
                Accepted::New => self.take(sequenced.record),
            }
        }
        Ok(())
    }

    fn take(&mut self, record: Record<E>) {
        let to = self.ledger.position();
        match record {
            Record::Event(place, event) => self.open.push((place, event)),
            Record::Rewind(_) => self.steps.push(Step::Rewind { to }),
            Record::Watermark(watermark) => {
                self.waiting += self.open.len();
                match self.steps.last_mut() {
                    Some(Step::Apply { events, to: end, watermark: last })
                        if events.len() + self.open.len() <= self.step_events_max =>
                    {
                        events.append(&mut self.open);
                        (*end, *last) = (to, watermark);
                    }
                    _ => {
                        let events = std::mem::take(&mut self.open);
                        self.steps.push(Step::Apply { events, to, watermark });
                    }
                }
            }
        }
    }

    /// Whether there is enough to do for now.
    pub(super) const fn is_full(&self) -> bool {
        self.waiting >= self.step_events_max
    }

    /// The steps that are complete.
    pub(super) fn steps(&mut self) -> Vec<Step<E>> {
        self.waiting = 0;
        std::mem::take(&mut self.steps)
    }
}
