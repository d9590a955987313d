//! Checks a partition's records and cuts them into steps.

use super::apply::Read;
use crate::{Accepted, Broken, Ledger};
use mojoscan_domain::Position;
use mojoscan_domain::record::{Place, Record, Watermark};
use tracing::Span;

/// One thing to do to the store.
pub(super) enum Step<E> {
    /// Apply events, up to a watermark.
    Apply { events: Vec<(Place, E)>, to: Position, watermark: Watermark },
    /// Go back.
    Rewind { to: Position },
}

/// A step, and the span that its last records were read in.
pub(super) struct Planned<E> {
    pub(super) step: Step<E>,
    pub(super) cause: Span,
}

/// Cuts one partition's records into steps. A step ends at a watermark, and never spans a rewind.
pub(super) struct Assembler<E> {
    ledger: Ledger,
    steps: Vec<Planned<E>>,
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
    pub(super) fn push(&mut self, read: Read<E>) -> Result<(), Broken> {
        for sequenced in read.records {
            match self.ledger.accept(&sequenced)? {
                Accepted::Repeat => {}
                Accepted::New => self.take(sequenced.record, &read.span),
            }
        }
        Ok(())
    }

    fn take(&mut self, record: Record<E>, cause: &Span) {
        let to = self.ledger.position();
        match record {
            Record::Event(place, event) => self.open.push((place, event)),
            Record::Rewind(_) => self.plan(Step::Rewind { to }, cause),
            Record::Watermark(watermark) => {
                self.waiting += self.open.len();
                match self.steps.last_mut() {
                    Some(Planned {
                        step: Step::Apply { events, to: end, watermark: last },
                        cause: latest,
                    }) if events.len() + self.open.len() <= self.step_events_max => {
                        events.append(&mut self.open);
                        (*end, *last) = (to, watermark);
                        latest.clone_from(cause);
                    }
                    _ => {
                        let events = std::mem::take(&mut self.open);
                        self.plan(Step::Apply { events, to, watermark }, cause);
                    }
                }
            }
        }
    }

    fn plan(&mut self, step: Step<E>, cause: &Span) {
        self.steps.push(Planned { step, cause: cause.clone() });
    }

    /// Whether there is enough to do for now.
    pub(super) const fn is_full(&self) -> bool {
        self.waiting >= self.step_events_max
    }

    /// The steps that are complete.
    pub(super) fn steps(&mut self) -> Vec<Planned<E>> {
        self.waiting = 0;
        std::mem::take(&mut self.steps)
    }
}
