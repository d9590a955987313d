//! The CLVM machine of one block: its memory, its dialect, and the limits on both.

use crate::{DecodeError, Limits};
use chia_consensus::allocator::make_allocator;
use chia_consensus::flags::ConsensusFlags;
use clvmr::allocator::{Allocator, NodePtr};
use clvmr::chia_dialect::ChiaDialect;
use clvmr::cost::Cost;
use clvmr::error::EvalErr;
use clvmr::run_program;
use std::time::{Duration, Instant};

/// The CLVM machine of one block.
pub(crate) struct Machine {
    pub(crate) allocator: Allocator,
    pub(crate) flags: ConsensusFlags,
    dialect: ChiaDialect,
    started: Instant,
    limits: Limits,
    cost: Cost,
}

impl Machine {
    /// An empty machine. `flags` are those of the block's version.
    pub(crate) fn new(flags: ConsensusFlags, limits: Limits) -> Self {
        Self {
            allocator: make_allocator(flags),
            flags,
            dialect: ChiaDialect::new(flags.to_clvm_flags()),
            started: Instant::now(),
            limits,
            cost: 0,
        }
    }

    /// CLVM cost used so far.
    pub(crate) const fn cost(&self) -> Cost {
        self.cost
    }

    /// Time used so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Runs a program that the block pays for.
    pub(crate) fn run(&mut self, program: NodePtr, environment: NodePtr) -> Result<NodePtr, RunError> {
        let left = self.limits.max_cost.saturating_sub(self.cost);
        let (cost, output) = self.run_within(program, environment, left)?;
        self.cost += cost;
        Ok(output)
    }

    /// Runs again, apart, what was part of a run the block has paid for. It cannot cost more than that run did, so it
    /// is not counted. What that run took of the allocator must have been given back: CLVM's limits are just wide
    /// enough for one.
    pub(crate) fn rerun(&mut self, program: NodePtr, environment: NodePtr) -> Result<NodePtr, RunError> {
        let max_cost = self.limits.max_cost;
        self.run_within(program, environment, max_cost).map(|(_, output)| output)
    }

    fn run_within(
        &mut self,
        program: NodePtr,
        environment: NodePtr,
        max_cost: Cost,
    ) -> Result<(Cost, NodePtr), RunError> {
        // a look at the clock within a run would cost every operator; a single run is bounded by its cost
        if self.started.elapsed() > self.limits.max_time {
            return Err(self.out_of_time());
        }
        if max_cost == 0 {
            return Err(self.out_of_cost());
        }
        run_program(&mut self.allocator, &self.dialect, program, environment, max_cost)
            .map(|reduction| (reduction.0, reduction.1))
            .map_err(|error| match error {
                EvalErr::CostExceeded => self.out_of_cost(),
                other => RunError::Failed(other.to_string()),
            })
    }

    fn out_of_cost(&self) -> RunError {
        RunError::Limit(DecodeError::Cost { limit: self.limits.max_cost })
    }

    fn out_of_time(&self) -> RunError {
        let limit_ms = u64::try_from(self.limits.max_time.as_millis()).unwrap_or(u64::MAX);
        RunError::Limit(DecodeError::Time { limit_ms })
    }
}

/// Why a run gave nothing.
pub(crate) enum RunError {
    /// The program failed; the text is CLVM's.
    Failed(String),
    /// The block's limits are used up.
    Limit(DecodeError),
}
