//! Checks that a partition's records are the ones that were written, all of them, in order.

use mojoscan_domain::record::{Record, Sequenced};
use mojoscan_domain::{BlockId, Position};

/// How a partition broke. It stops at this record; nothing of it is applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("offset {offset}: {reason}")]
pub struct Broken {
    /// The offset of the record.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// What to do with a record that is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// Take it.
    New,
    /// It was applied before: drop it.
    Repeat,
}

/// Follows one partition, record by record.
#[derive(Debug, Clone)]
pub struct Ledger {
    position: Position,
    /// The block of the latest event behind the position.
    open: Option<BlockId>,
}

impl Ledger {
    /// Begins behind a position.
    pub const fn new(position: Position) -> Self {
        Self { position, open: None }
    }

    /// Where the last complete watermark or rewind has led, and the records after it that were accepted.
    pub const fn position(&self) -> Position {
        self.position
    }

    /// Checks the next record.
    ///
    /// # Errors
    /// [`Broken`] says what does not fit. The ledger stays as it was.
    pub fn accept<E>(&mut self, sequenced: &Sequenced<E>) -> Result<Accepted, Broken> {
        let at = &self.position;
        let broken = |reason| Err(Broken { offset: sequenced.offset, reason });
        if sequenced.seq <= at.seq {
            return Ok(Accepted::Repeat);
        }
        if sequenced.seq != at.seq + 1 {
            return broken(format!("sequence number {} where {} is due", sequenced.seq, at.seq + 1));
        }
        let rewinds = matches!(sequenced.record, Record::Rewind(_));
        if sequenced.epoch != at.epoch + u64::from(rewinds) {
            return broken(format!("epoch {} behind epoch {}", sequenced.epoch, at.epoch));
        }
        match self.check(&sequenced.record) {
            Ok(()) => {}
            Err(reason) => return broken(reason),
        }
        self.advance(sequenced);
        Ok(Accepted::New)
    }

    fn check<E>(&self, record: &Record<E>) -> Result<(), String> {
        let block = self.position.block;
        match record {
            Record::Event(place, _) => {
                let last = self.open.or(block);
                let follows = last.is_none_or(|last| {
                    place.block.height > last.height || (self.open.is_some() && place.block == last)
                });
                if follows { Ok(()) } else { Err(format!("an event of block {} out of order", place.block)) }
            }
            Record::Watermark(watermark) if watermark.previous != block => {
                Err(format!("a watermark behind {} where {} is", name(watermark.previous), name(block)))
            }
            Record::Watermark(watermark) => {
                let complete = self.open.is_none_or(|open| watermark.block.height >= open.height)
                    && block.is_none_or(|b| watermark.block.height > b.height || watermark.block == b);
                if complete { Ok(()) } else { Err(format!("a watermark at {} too low", watermark.block)) }
            }
            Record::Rewind(_) if self.open.is_some() => Err("a rewind within a block".to_owned()),
            Record::Rewind(rewind) => {
                let back = match (rewind.to, block) {
                    (None, _) => true,
                    (Some(_), None) => false,
                    (Some(to), Some(block)) => to.height < block.height || to == block,
                };
                if back {
                    Ok(())
                } else {
                    Err(format!("a rewind from {} up to {}", name(block), name(rewind.to)))
                }
            }
        }
    }

    fn advance<E>(&mut self, sequenced: &Sequenced<E>) {
        self.position.seq = sequenced.seq;
        self.position.offset = sequenced.offset + 1;
        self.position.epoch = sequenced.epoch;
        match &sequenced.record {
            Record::Event(place, _) => self.open = Some(place.block),
            Record::Watermark(watermark) => {
                self.position.block = Some(watermark.block);
                self.open = None;
            }
            Record::Rewind(rewind) => self.position.block = rewind.to,
        }
    }
}

fn name(block: Option<BlockId>) -> String {
    block.map_or_else(|| "the beginning".to_owned(), |block| block.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mojoscan_domain::Bytes32;
    use mojoscan_domain::record::{Place, Rewind, Watermark};

    fn block(height: u32) -> BlockId {
        BlockId { height, hash: Bytes32::new([height as u8; 32]) }
    }

    fn event(height: u32) -> Record<()> {
        Record::Event(Place { block: block(height), timestamp: 0, index: 0 }, ())
    }

    fn watermark(previous: Option<u32>, height: u32) -> Record<()> {
        let previous = previous.map(block);
        Record::Watermark(Watermark { block: block(height), previous, peak_height: 9, heard_at_ms: None })
    }

    fn rewind(epoch: u64, height: u32) -> Record<()> {
        Record::Rewind(Rewind { epoch, to: Some(block(height)) })
    }

    fn feed(ledger: &mut Ledger, epoch: u64, seq: u64, record: Record<()>) -> Result<Accepted, Broken> {
        ledger.accept(&Sequenced { epoch, seq, offset: seq + 100, record })
    }

    fn at_three() -> Ledger {
        let mut ledger = Ledger::new(Position::START);
        for (seq, record) in [event(1), event(1), event(3), watermark(None, 3)].into_iter().enumerate() {
            assert_eq!(feed(&mut ledger, 0, seq as u64 + 1, record), Ok(Accepted::New));
        }
        ledger
    }

    #[test]
    fn a_right_stream_passes_and_moves_the_position() {
        let mut ledger = at_three();
        assert_eq!(ledger.position(), Position { epoch: 0, block: Some(block(3)), seq: 4, offset: 105 });
        assert_eq!(feed(&mut ledger, 0, 4, watermark(None, 3)), Ok(Accepted::Repeat));
        assert_eq!(feed(&mut ledger, 0, 5, watermark(Some(3), 3)), Ok(Accepted::New));
        assert_eq!(feed(&mut ledger, 1, 6, rewind(1, 2)), Ok(Accepted::New));
        assert_eq!(feed(&mut ledger, 1, 7, event(3)), Ok(Accepted::New));
        assert_eq!(feed(&mut ledger, 1, 8, watermark(Some(2), 4)), Ok(Accepted::New));
        assert_eq!(ledger.position().block, Some(block(4)));
    }

    #[test]
    fn anything_else_breaks_and_changes_nothing() {
        for (epoch, seq, record) in [
            (0, 6, event(4)),              // a gap
            (1, 5, event(4)),              // an epoch nobody began
            (0, 5, rewind(1, 2)),          // a rewind of the old epoch
            (2, 5, rewind(2, 2)),          // an epoch left out
            (0, 5, event(3)),              // an event of a complete block
            (0, 5, event(2)),              // an event of an older block
            (0, 5, watermark(Some(2), 4)), // does not link
            (0, 5, watermark(Some(3), 2)), // goes back
            (1, 5, rewind(1, 4)),          // goes forwards
        ] {
            let mut ledger = at_three();
            let before = ledger.position();
            assert!(feed(&mut ledger, epoch, seq, record.clone()).is_err(), "{record:?}");
            assert_eq!(ledger.position(), before);
        }
        let mut ledger = at_three();
        feed(&mut ledger, 0, 5, event(5)).unwrap();
        assert!(feed(&mut ledger, 0, 6, event(4)).is_err());
        assert!(feed(&mut ledger, 1, 6, rewind(1, 2)).is_err());
        assert!(feed(&mut ledger, 0, 6, watermark(Some(3), 4)).is_err());
    }
}
