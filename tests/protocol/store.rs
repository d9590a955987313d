//! A CQL store, as far as the protocol relies on it: cells that keep the write with the highest timestamp.

use super::chain::{Block, Coin, Height, Owner};

/// The timestamp of a clock that all writers share, which no system has: whatever comes last wins.
pub(crate) const CLOCK: u8 = 0;

/// A cell. Writes may arrive late and in any order: the highest timestamp wins; of two with the same, a deletion wins,
/// and otherwise the larger value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cell<V> {
    stamp: u8,
    value: Option<V>,
}

impl<V> Default for Cell<V> {
    fn default() -> Self {
        Self { stamp: 0, value: None }
    }
}

impl<V: Copy + Ord> Cell<V> {
    pub(crate) fn write(&mut self, stamp: u8, value: V) {
        let tie = stamp == self.stamp && self.value.is_some_and(|old| value > old);
        if stamp > self.stamp || tie || stamp == CLOCK {
            *self = Self { stamp, value: Some(value) };
        }
    }

    pub(crate) fn delete(&mut self, stamp: u8) {
        if stamp >= self.stamp || stamp == CLOCK {
            *self = Self { stamp, value: None };
        }
    }

    pub(crate) const fn get(&self) -> Option<V> {
        self.value
    }
}

/// How far the rows of the partition are complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Position {
    pub(crate) seq: u8,
    pub(crate) epoch: u8,
    pub(crate) block: Option<Block>,
}

impl Position {
    pub(crate) fn height(self) -> Height {
        self.block.map_or(0, Block::height)
    }
}

/// What a batch touches, and a rewind must visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    /// Running balances: one cell for each height that changed it.
    Balance(Owner),
    /// Who a coin was created for: one cell.
    Creation(Coin),
    /// That a coin is spent: one cell, changed in place.
    Spend(Coin),
}

impl Key {
    pub(crate) const ALL: [Self; 6] = [
        Self::Balance(Owner::Ann),
        Self::Balance(Owner::Bob),
        Self::Creation(Coin::C1),
        Self::Creation(Coin::C2),
        Self::Spend(Coin::C1),
        Self::Spend(Coin::C2),
    ];

    const fn index(self) -> usize {
        match self {
            Self::Balance(owner) => owner as usize,
            Self::Creation(coin) => 2 + coin as usize,
            Self::Spend(coin) => 4 + coin as usize,
        }
    }

    pub(crate) const fn bit(self) -> u8 {
        1 << self.index()
    }

    fn slot(self, height: Height) -> usize {
        if matches!(self, Self::Balance(_)) { usize::from(height) - 1 } else { 0 }
    }
}

/// What a row says. Every row carries the height from which it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Row {
    pub(crate) height: Height,
    /// A balance, or the number of an owner.
    pub(crate) value: u8,
}

/// The rows of the partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rows([[Cell<Row>; 3]; 6]);

impl Rows {
    pub(crate) fn write(&mut self, key: Key, row: Row, stamp: u8) {
        self.0[key.index()][key.slot(row.height)].write(stamp, row);
    }

    /// The newest row of a key at or below a height.
    pub(crate) fn newest(&self, key: Key, at: Height) -> Option<Row> {
        self.0[key.index()].iter().rev().filter_map(Cell::get).find(|row| row.height <= at)
    }

    /// Deletes what a key has above a height, present or not.
    pub(crate) fn delete_above(&mut self, key: Key, height: Height, stamp: u8) {
        let from = if matches!(key, Key::Balance(_)) { usize::from(height) } else { 0 };
        self.0[key.index()][from..].iter_mut().for_each(|cell| cell.delete(stamp));
    }

    /// What is there, whoever wrote it and when.
    pub(crate) fn values(&self) -> [[Option<Row>; 3]; 6] {
        self.0.map(|cells| cells.map(|cell| cell.get()))
    }
}

/// For each height the keys that were touched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Journal([[Cell<()>; 6]; 3]);

impl Journal {
    /// Adds keys, given as their bits, to a height.
    pub(crate) fn write(&mut self, height: Height, keys: u8, stamp: u8) {
        for key in Key::ALL.into_iter().filter(|key| key.bit() & keys != 0) {
            self.0[usize::from(height) - 1][key.index()].write(stamp, ());
        }
    }

    /// The keys touched above a height.
    pub(crate) fn keys_above(&self, height: Height) -> Vec<Key> {
        let above = &self.0[usize::from(height)..];
        let touched = |key: &Key| above.iter().any(|keys| keys[key.index()].get().is_some());
        Key::ALL.into_iter().filter(touched).collect()
    }

    pub(crate) fn delete_above(&mut self, height: Height, stamp: u8) {
        self.0[usize::from(height)..].iter_mut().flatten().for_each(|cell| cell.delete(stamp));
    }
}

/// All tables of the partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    pub(crate) rows: Rows,
    pub(crate) journal: Journal,
    position: Cell<Position>,
    /// There while a rewind is under way.
    pub(crate) undoing: Cell<bool>,
}

impl Store {
    pub(crate) fn position(&self) -> Position {
        self.position.get().unwrap_or_default()
    }

    pub(crate) fn set_position(&mut self, position: Position, stamp: u8) {
        self.position.write(stamp, position);
    }
}
