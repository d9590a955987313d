//! The world of the models: a chain with a fork in it, two owners, two coins.
//!
//! ```text
//! One ── TwoA ── ThreeA
//!    ├── TwoB ── ThreeB      the reorg ends at the height it began at
//!    └── TwoC ── ThreeC
//!            └── ThreeD
//! ```
//!
//! It is the smallest world found in which every rule matters: a balance that only one fork changes, a coin that is
//! spent at different heights in different forks, and a spend in doubt (`c2` is Ann's in one fork and Bob's in the
//! other, so `ThreeA` tells both that it is spent, and only who holds it takes notice).

use mojoscan_domain::record::{Place, Record as RealRecord, Rewind, Sequenced, Watermark};
use mojoscan_domain::{BlockId, Bytes32, Position};
use mojoscan_pipeline::{Accepted, Ledger};

/// A height: 1 to 3. 0 is below all blocks.
pub(crate) type Height = u8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Block {
    One,
    TwoA,
    ThreeA,
    TwoB,
    ThreeB,
    TwoC,
    ThreeC,
    ThreeD,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Owner {
    Ann,
    Bob,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Coin {
    C1,
    C2,
}

/// Every coin is worth 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Event {
    Created(Coin, Owner),
    /// Applies only where this owner holds the coin.
    Spent(Coin, Owner),
}

impl Block {
    pub(crate) const ALL: [Self; 8] = [
        Self::One,
        Self::TwoA,
        Self::ThreeA,
        Self::TwoB,
        Self::ThreeB,
        Self::TwoC,
        Self::ThreeC,
        Self::ThreeD,
    ];

    pub(crate) const fn height(self) -> Height {
        match self {
            Self::One => 1,
            Self::TwoA | Self::TwoB | Self::TwoC => 2,
            Self::ThreeA | Self::ThreeB | Self::ThreeC | Self::ThreeD => 3,
        }
    }

    pub(crate) const fn previous(self) -> Option<Self> {
        match self {
            Self::One => None,
            Self::TwoA | Self::TwoB | Self::TwoC => Some(Self::One),
            Self::ThreeA => Some(Self::TwoA),
            Self::ThreeB => Some(Self::TwoB),
            Self::ThreeC | Self::ThreeD => Some(Self::TwoC),
        }
    }

    pub(crate) const fn events(self) -> &'static [Event] {
        use {Coin::*, Event::*, Owner::*};
        match self {
            Self::One => &[Created(C1, Ann)],
            Self::TwoA => &[Created(C2, Ann)],
            Self::ThreeA => &[Spent(C1, Ann), Spent(C2, Ann), Spent(C2, Bob)],
            Self::TwoB => &[Created(C2, Bob)],
            Self::ThreeB | Self::TwoC => &[Spent(C1, Ann)],
            Self::ThreeC => &[Created(C2, Ann)],
            Self::ThreeD => &[Created(C2, Bob)],
        }
    }

    /// The chain that ends here, lowest block first.
    pub(crate) fn chain(self) -> Vec<Self> {
        let mut chain: Vec<_> = std::iter::successors(Some(self), |block| block.previous()).collect();
        chain.reverse();
        chain
    }
}

/// One record of a partition. Its `seq` is its place in the partition, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Record {
    pub(crate) seq: u8,
    pub(crate) epoch: u8,
    pub(crate) body: Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Body {
    /// In the coins topic something happened in a block; in the blocks topic the block was published.
    Of(Block, Option<Event>),
    /// `coins_seq` is filled in the blocks topic only: the last `seq` of the coins partition at this point.
    Watermark {
        block: Block,
        previous: Option<Block>,
        coins_seq: u8,
    },
    Rewind {
        to: Option<Block>,
    },
}

/// Numbers the records of a partition as a publisher would that is never interrupted.
pub(crate) fn log(bodies: impl IntoIterator<Item = Body>) -> Vec<Record> {
    let mut epoch = 0;
    let number = |(seq, body)| {
        epoch += u8::from(matches!(body, Body::Rewind { .. }));
        Record { seq, epoch, body }
    };
    (1..).zip(bodies).map(number).collect()
}

/// A block with its own watermark.
pub(crate) fn block(block: Block) -> impl Iterator<Item = Body> {
    let events = block.events().iter().map(move |event| Body::Of(block, Some(*event)));
    let end = Body::Watermark { block, previous: block.previous(), coins_seq: 0 };
    events.chain([end])
}

/// Whether the service's own [`Ledger`] takes every record of a partition as new, and no block was left out.
pub(crate) fn is_sound(partition: &[Record]) -> bool {
    let mut ledger = Ledger::new(Position::START);
    let mut chain: Vec<Block> = vec![];
    partition.iter().all(|record| {
        let complete = match record.body {
            Body::Of(block, _) => {
                let known = chain.last() == Some(&block);
                let follows = block.previous() == chain.last().copied();
                chain.extend((!known && follows).then_some(block));
                known || follows
            }
            Body::Watermark { block, .. } => Some(block) == chain.last().copied(),
            Body::Rewind { to } => {
                chain.truncate(to.map_or(0, |to| usize::from(to.height())));
                to == chain.last().copied()
            }
        };
        complete && ledger.accept(&real(record)) == Ok(Accepted::New)
    })
}

/// The record as the service knows it.
fn real(record: &Record) -> Sequenced<()> {
    let id = |block: Block| BlockId { height: block.height().into(), hash: Bytes32::new([block as u8; 32]) };
    let real = match record.body {
        Body::Of(block, _) => RealRecord::Event(Place { block: id(block), timestamp: 0, index: 0 }, ()),
        Body::Watermark { block, previous, .. } => RealRecord::Watermark(Watermark {
            block: id(block),
            previous: previous.map(id),
            peak_height: 3,
            heard_at_ms: None,
        }),
        Body::Rewind { to } => RealRecord::Rewind(Rewind { epoch: record.epoch.into(), to: to.map(id) }),
    };
    Sequenced { epoch: record.epoch.into(), seq: record.seq.into(), offset: record.seq.into(), record: real }
}
