//! The protocol between the node and the reader, explored to its last state: it holds, and without any one of its rules
//! it does not. `--nocapture` shows how many states there are, and for each rule what happens without it.

mod protocol {
    pub(crate) mod chain;
    pub(crate) mod consume;
    pub(crate) mod publish;
    pub(crate) mod store;
}

use protocol::chain::{self, Block, Body, Record};
use protocol::consume::{self, Choices, Consume};
use protocol::publish::{self, Publish};
use stateright::{Checker, HasDiscoveries, Model};
use std::fmt::Debug;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Far more than any of the models needs.
const PATIENCE: Duration = Duration::from_secs(300);

/// Explores a model to its end, or until a property is broken: that property.
fn explore<M>(name: &str, model: M) -> Option<&'static str>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + PartialEq + Hash + Send + Sync + Debug,
    M::Action: Clone + PartialEq + Debug,
{
    let started = Instant::now();
    let builder = model.checker().threads(2).timeout(PATIENCE).finish_when(HasDiscoveries::AnyFailures);
    let checker = builder.spawn_bfs().join();
    let (states, time) = (checker.unique_state_count(), started.elapsed());
    println!("{name}: {states} states, up to {} steps, {time:.1?}", checker.max_depth());
    assert!(time < PATIENCE, "{name}: not explored to its end");
    let found = checker.discoveries();
    let (failures, goals): (Vec<_>, Vec<_>) = checker
        .model()
        .properties()
        .into_iter()
        .partition(|property| property.expectation.discovery_is_failure());
    let broken = failures.iter().map(|property| property.name).find(|name| found.contains_key(name));
    match broken {
        Some(broken) => println!("    not so: {broken}\n    {:?}", found[broken].clone().into_actions()),
        None => assert!(goals.iter().all(|goal| found.contains_key(goal.name)), "{name}: never gets there"),
    }
    broken
}

/// `One`, `TwoA`, `ThreeA`; then a reorg that ends at the same height.
fn reorg() -> Vec<Record> {
    use Block::{One, ThreeA, ThreeB, TwoA, TwoB};
    log(&[(None, &[One, TwoA, ThreeA]), (Some(One), &[TwoB, ThreeB])])
}

/// Two reorgs: a coin is spent at height 3, then at 2, where the second reorg leaves it.
fn two_reorgs() -> Vec<Record> {
    use Block::{One, ThreeA, ThreeC, ThreeD, TwoA, TwoC};
    log(&[(None, &[One, TwoA, ThreeA]), (Some(One), &[TwoC, ThreeC]), (Some(TwoC), &[ThreeD])])
}

/// The records of runs of blocks, each behind a rewind, if it names a block.
fn log(runs: &[(Option<Block>, &[Block])]) -> Vec<Record> {
    let bodies = runs.iter().flat_map(|(to, blocks)| {
        let rewind = to.map(|to| Body::Rewind { to: Some(to) });
        rewind.into_iter().chain(blocks.iter().flat_map(|block| chain::block(*block)))
    });
    let log = chain::log(bodies);
    assert!(chain::is_sound(&log), "{log:?}");
    log
}

#[test]
fn publishing_holds() {
    assert_eq!(explore("publishing", Publish::default()), None);
}

#[test]
fn publishing_needs_every_rule() {
    use publish::Rule::*;
    for rule in [
        OlderProducersAreFenced,
        BatchesAreTransactions,
        EndIsReadAfterFencing,
        EndIsReadAgain,
        ProducersAreThrownAway,
        EveryTransactionTellsItsEnd,
        ForksAreLookedFor,
        RewindsRaiseTheEpoch,
    ] {
        let broken = explore(&format!("without {rule:?}"), Publish { without: Some(rule) });
        assert!(broken.is_some(), "{rule:?} is not needed");
    }
}

#[test]
fn consuming_holds() {
    assert_eq!(explore("two consumers and a reader", Consume::new(reorg())), None);
    let model = Consume { reader: false, ..Consume::new(two_reorgs()) };
    assert_eq!(explore("two consumers, two reorgs", model), None);
}

#[test]
fn adapters_are_free_to_choose() {
    let none = Choices::default();
    for choices in [
        Choices { stamps_by_batch: true, ..none },
        Choices { journal_after_rows: true, ..none },
        Choices { removes_what_is_there: true, ..none },
        Choices { stamps_by_batch: true, journal_after_rows: true, removes_what_is_there: true },
    ] {
        let model = Consume { reader: false, choices, ..Consume::new(reorg()) };
        assert_eq!(explore(&format!("two consumers, {choices:?}"), model), None);
    }
}

#[test]
fn consuming_needs_every_rule() {
    use consume::Rule::*;
    for rule in [
        NumbersAreChecked,
        BatchesAreWhole,
        PriorIsAtPosition,
        LoadsAreConfirmed,
        JournalBeforePosition,
        RowsBeforePosition,
        PositionBeforeRemoval,
        RewindsRaiseTheEpoch,
        RewindsRemoveRows,
        JournalIsForgotten,
        MarkGoesLast,
        MarkIsDeleted,
        RewindsAreEnded,
        RowsHaveLogTime,
        PositionsHaveLogTime,
        TimeGrowsOverForks,
        ReadsAreConfirmed,
        BalancesAreMasked,
        SpendsAreMasked,
    ] {
        let without = Some(rule);
        let model = match rule {
            // these are about another who writes
            LoadsAreConfirmed | RowsHaveLogTime | PositionsHaveLogTime => {
                Consume { reader: false, without, ..Consume::new(reorg()) }
            }
            // this about what an earlier reorg leaves behind
            JournalIsForgotten => {
                Consume { consumers: 1, reader: false, without, ..Consume::new(two_reorgs()) }
            }
            _ => Consume { consumers: 1, without, ..Consume::new(reorg()) },
        };
        let broken = explore(&format!("without {rule:?}"), model);
        assert!(broken.is_some(), "{rule:?} is not needed");
    }
}
