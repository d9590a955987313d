//! A chain of a world that can be forked at any of its blocks.

use crate::chain::Blocks;
use crate::world::{Built, World};
use fastrand::Rng;
use mojoscan_domain::BlockId;
use std::sync::Arc;

/// A chain of a world that can be forked at any of its blocks.
#[derive(Clone, Default)]
pub struct Branch {
    blocks: Vec<Built>,
    /// The world after each block.
    worlds: Vec<Arc<World>>,
}

impl Branch {
    /// A chain of so many blocks.
    pub fn of(blocks: usize, rng: &mut Rng) -> Self {
        let mut branch = Self::default();
        branch.grow(blocks, rng);
        branch
    }

    /// Adds blocks.
    pub fn grow(&mut self, blocks: usize, rng: &mut Rng) {
        for _ in 0..blocks {
            let mut world = self.worlds.last().map_or_else(World::genesis, |world| World::clone(world));
            self.blocks.push(world.grow(rng));
            self.worlds.push(Arc::new(world));
        }
    }

    /// Another chain that leaves this one `depth` blocks below its end, and has `blocks` of its own from there on.
    pub fn fork(&self, depth: usize, blocks: usize, rng: &mut Rng) -> Self {
        let kept = self.blocks.len() - depth;
        let mut fork = Self { blocks: self.blocks[..kept].to_vec(), worlds: self.worlds[..kept].to_vec() };
        fork.grow(blocks, rng);
        fork
    }

    /// Whether it begins with all of another chain: such a source is only ahead of the other, no reorg.
    pub fn extends(&self, other: &Self) -> bool {
        self.blocks.starts_with(&other.blocks)
    }

    /// How many blocks it has.
    pub fn length(&self) -> usize {
        self.blocks.len()
    }

    /// Its last block.
    pub fn tip(&self) -> BlockId {
        self.blocks.last().unwrap().id
    }

    /// Its blocks.
    pub fn blocks(&self) -> Blocks {
        self.blocks.as_slice().into()
    }
}
