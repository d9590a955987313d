//! The runner: from a scripted log, through a projection that keeps every event, into a store that can fail and wait.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

#[path = "runner/scripted.rs"]
mod scripted;

use mojoscan_domain::Position;
use mojoscan_pipeline::runner::{RunnerError, RunnerOptions, State};
use mojoscan_pipeline::{Broken, Delivery, LogError, StoreError};
use scripted::{IMPOSSIBLE, OPEN, PATIENCE, RESTLESS, Script, Step, block, commit, start};
use std::collections::BTreeSet;
use std::time::Duration;
use tracing::Span;

#[tokio::test(start_paused = true)]
async fn steps_end_at_watermarks_and_never_span_a_rewind() {
    let mut running = start(RunnerOptions::default(), OPEN, &[]);
    let mut script = Script::new(4);
    let mut records = script.whole(1);
    records.extend([script.event(2, 20), script.event(3, 30), script.watermark(3)]);
    records.push(script.rewind(2));
    records.extend([script.event(3, 31), script.watermark(3), script.rewind(1), script.rewind(0)]);
    records.extend([script.watermark(1), script.event(2, 21)]);
    running.give([Ok(Delivery::Assigned(4)), script.delivery(records)]);
    running.at_height(4, 1).await;
    let progress = running.until(4, |progress| progress.position.seq == 11).await;
    assert_eq!(progress.position, Position { epoch: 3, block: Some(block(1)), seq: 11, offset: 111 });
    assert_eq!(progress.watermark.unwrap().previous, Some(block(0)));
    // the event behind the last watermark is not complete yet
    running.give([script.delivery(vec![])]);
    let (ended, store) = running.end().await;
    assert_eq!(ended, Ok(()));
    let expected = [
        commit(&[1, 20, 30], 3),
        Step::Rewind(2),
        commit(&[31], 3),
        Step::Rewind(1),
        Step::Rewind(0),
        commit(&[], 1),
    ];
    assert_eq!(store.of(4), expected);
}

#[tokio::test(start_paused = true)]
async fn what_comes_while_a_step_is_applied_is_applied_together_within_bounds() {
    let options = RunnerOptions { deliveries_max: 8, batch_events: 3, ..RunnerOptions::default() };
    let mut running = start(options, 0, &[]);
    let mut script = Script::new(0);
    let first = script.whole(1);
    running.give([Ok(Delivery::Assigned(0)), script.delivery(first)]);
    running.writes(1).await;
    for height in 2..=8 {
        let records = script.whole(height);
        running.give([script.delivery(records)]);
    }
    running.store.gate.add_permits(OPEN);
    running.at_height(0, 8).await;
    let (ended, store) = running.end().await;
    assert_eq!(ended, Ok(()));
    assert_eq!(store.of(0), [commit(&[1], 1), commit(&[2, 3, 4], 4), commit(&[5, 6, 7], 7), commit(&[8], 8)]);
}

#[tokio::test(start_paused = true)]
async fn a_block_larger_than_a_batch_is_one_step() {
    let options = RunnerOptions { batch_events: 2, ..RunnerOptions::default() };
    let mut running = start(options, OPEN, &[]);
    let mut script = Script::new(0);
    let mut records: Vec<_> = (1..=5).map(|value| script.event(1, value)).collect();
    records.push(script.watermark(1));
    // one delivery or several, it does not matter
    let rest = records.split_off(3);
    running.give([Ok(Delivery::Assigned(0)), script.delivery(records), script.delivery(rest)]);
    running.at_height(0, 1).await;
    assert_eq!(running.end().await.1.of(0), [commit(&[1, 2, 3, 4, 5], 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_broken_record_stops_its_partition_and_no_other() {
    let mut running = start(RunnerOptions::default(), OPEN, &[]);
    let (mut bad, mut good) = (Script::new(2), Script::new(3));
    let mut records = bad.whole(1);
    records.extend(bad.whole(2));
    bad.event(3, 3); // lost
    records.push(bad.watermark(3));
    let offset = records.last().unwrap().offset;
    running.give([Ok(Delivery::Assigned(2)), Ok(Delivery::Assigned(3)), bad.delivery(records)]);
    let reason = running.stopped(2).await;
    assert!(reason.starts_with(&format!("numbers/2: offset {offset}: ")), "{reason}");
    assert!(reason.contains("sequence number 6 where 5 is due"), "{reason}");
    // what stands before it is applied, what comes behind it is not
    let more = bad.whole(4);
    let whole = good.whole(1);
    running.give([bad.delivery(more), good.delivery(whole)]);
    running.at_height(3, 1).await;
    let (ended, store) = running.end().await;
    assert_eq!(ended, Ok(()));
    assert_eq!(store.of(2), [commit(&[1, 2], 2)]);
    assert_eq!(store.of(3), [commit(&[1], 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_the_log_cannot_read_stops_its_partition() {
    let mut running = start(RunnerOptions::default(), OPEN, &[]);
    let mut script = Script::new(6);
    let records = script.whole(1);
    let unreadable = Broken { offset: 77, reason: "not a record".to_owned() };
    running.give([Ok(Delivery::Assigned(6)), script.delivery(records), Ok(Delivery::Broken(6, unreadable))]);
    assert_eq!(running.stopped(6).await, "numbers/6: offset 77: not a record");
    assert_eq!(running.end().await.1.of(6), [commit(&[1], 1)]);
}

/// A partition whose store is slow is paused, and holds up no other.
#[tokio::test(start_paused = true)]
async fn a_partition_that_is_busy_is_paused_and_goes_on() {
    let options = RunnerOptions { deliveries_max: 1, ..RunnerOptions::default() };
    let mut running = start(options, 0, &[]);
    let (mut slow, mut other) = (Script::new(0), Script::new(1));
    let first = slow.whole(1);
    running.give([Ok(Delivery::Assigned(0)), slow.delivery(first)]);
    running.writes(1).await;
    for height in 2..=3 {
        let records = slow.whole(height);
        running.give([slow.delivery(records)]);
    }
    let records = other.whole(1);
    running.give([Ok(Delivery::Assigned(1)), other.delivery(records)]);
    running.writes(2).await;
    assert_eq!(*running.paused.lock().unwrap(), BTreeSet::from([0]));
    running.store.gate.add_permits(OPEN);
    running.at_height(0, 3).await;
    running.at_height(1, 1).await;
    assert_eq!(*running.paused.lock().unwrap(), BTreeSet::new());
    let (ended, store) = running.end().await;
    assert_eq!(ended, Ok(()));
    let values: Vec<u32> = store.of(0).iter().flat_map(Step::values).collect();
    assert_eq!(values, [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_have_happened_stops_its_partition() {
    let mut running = start(RunnerOptions::default(), OPEN, &[]);
    let mut script = Script::new(0);
    let first = script.whole(1);
    let records = vec![script.event(2, IMPOSSIBLE), script.watermark(2)];
    running.give([Ok(Delivery::Assigned(0)), script.delivery(first)]);
    running.at_height(0, 1).await;
    running.give([script.delivery(records)]);
    let reason = running.stopped(0).await;
    assert!(reason.starts_with("numbers/0: ") && reason.contains("unknown coin"), "{reason}");
    assert_eq!(running.end().await.1.of(0), [commit(&[1], 1)]);
}

#[tokio::test(start_paused = true)]
async fn records_that_were_applied_before_are_dropped() {
    let mut running = start(RunnerOptions::default(), OPEN, &[]);
    let mut script = Script::new(0);
    let (one, two) = (script.whole(1), script.whole(2));
    let twice: Vec<_> = one.iter().chain(&one).chain(&two).cloned().collect();
    running.give([Ok(Delivery::Assigned(0)), script.delivery(twice), script.delivery(two)]);
    let three = script.whole(3);
    running.give([script.delivery(three)]);
    running.at_height(0, 3).await;
    let steps = running.end().await.1.of(0);
    let values: Vec<u32> = steps.iter().flat_map(Step::values).collect();
    assert_eq!(values, [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn an_unavailable_store_is_asked_again() {
    let away = StoreError::Unavailable("away".to_owned());
    // where it stands, what was there before, and the writes: each fails for a while
    let mut running = start(RunnerOptions::default(), OPEN, &vec![away.clone(); 4]);
    let mut script = Script::new(0);
    let records = script.whole(1);
    running.give([Ok(Delivery::Assigned(0)), script.delivery(records)]);
    running.at_height(0, 1).await;
    running.store.faults.lock().unwrap().extend(vec![away.clone(); 5]);
    let mut records = script.whole(2);
    records.push(script.rewind(1));
    running.give([script.delivery(records)]);
    running.until(0, |progress| progress.position.epoch == 1).await;
    assert_eq!(running.progress.borrow()[&0].state, State::Running);
    let steps = running.end().await.1.of(0);
    assert_eq!(steps, [commit(&[1], 1), commit(&[2], 2), Step::Rewind(1)]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_away_ends_the_runner() {
    let options = RunnerOptions { store_patience: Duration::from_secs(60), ..RunnerOptions::default() };
    let away = StoreError::Unavailable("away".to_owned());
    let mut running = start(options, OPEN, &[]);
    running.give([Ok(Delivery::Assigned(0)), Ok(Delivery::Assigned(1))]);
    running.until(1, |_| true).await;
    running.store.faults.lock().unwrap().extend(vec![away.clone(); 1_000]);
    for partition in [0, 1] {
        let records = Script::new(partition).whole(1);
        running.give([Ok(Delivery::Records(partition, records, Span::none()))]);
    }
    // the log goes on: it is the store that ends it
    let ended = tokio::time::timeout(PATIENCE, running.task).await.unwrap().unwrap();
    assert_eq!(ended, Err(RunnerError::Store(away)));
    assert_eq!([running.store.of(0), running.store.of(1)], [[], []]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_broken_stops_the_partition() {
    let cases = [StoreError::Broken("on fire".to_owned()), StoreError::TooDeep { to: 3, oldest: 7 }];
    for fault in cases {
        let mut running = start(RunnerOptions::default(), OPEN, &[]);
        running.give([Ok(Delivery::Assigned(0))]);
        running.until(0, |_| true).await;
        let said = fault.to_string();
        running.store.faults.lock().unwrap().push_back(fault);
        let records = Script::new(0).whole(1);
        running.give([Ok(Delivery::Records(0, records, Span::none()))]);
        let reason = running.stopped(0).await;
        assert!(reason.contains(&said), "{reason}");
        assert_eq!(running.end().await.1.of(0), []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_say_where_it_stands_ends_the_runner_once_what_was_begun_is_finished() {
    let broken = StoreError::Broken("on fire".to_owned());
    let mut running = start(RunnerOptions::default(), 0, &[]);
    let records = Script::new(0).whole(1);
    running.give([Ok(Delivery::Assigned(0)), Ok(Delivery::Records(0, records, Span::none()))]);
    running.writes(1).await;
    running.store.faults.lock().unwrap().push_back(broken.clone());
    running.give([Ok(Delivery::Assigned(1))]);
    assert!(tokio::time::timeout(Duration::from_secs(60), &mut running.task).await.is_err());
    running.store.gate.add_permits(OPEN);
    let ended = tokio::time::timeout(PATIENCE, running.task).await.unwrap().unwrap();
    assert_eq!(ended, Err(RunnerError::Store(broken)));
    assert_eq!(running.store.of(0), [commit(&[1], 1)]);
}

#[tokio::test(start_paused = true)]
async fn stopping_finishes_what_was_begun() {
    let mut running = start(RunnerOptions::default(), 0, &[]);
    let mut script = Script::new(0);
    let records = script.whole(1);
    running.give([Ok(Delivery::Assigned(0)), script.delivery(records)]);
    running.writes(1).await;
    running.stop.cancel();
    // it cannot end before the write has
    assert!(tokio::time::timeout(Duration::from_secs(60), &mut running.task).await.is_err());
    assert_eq!(running.store.of(0), []);
    running.store.gate.add_permits(OPEN);
    assert_eq!(tokio::time::timeout(PATIENCE, running.task).await.unwrap().unwrap(), Ok(()));
    assert_eq!(running.store.of(0), [commit(&[1], 1)]);
}

#[tokio::test(start_paused = true)]
async fn stopping_finishes_what_was_begun_of_a_partition_that_is_paused() {
    let options = RunnerOptions { deliveries_max: 1, ..RunnerOptions::default() };
    let mut running = start(options, 0, &[]);
    let mut script = Script::new(0);
    let first = script.whole(1);
    running.give([Ok(Delivery::Assigned(0)), script.delivery(first)]);
    running.writes(1).await;
    for height in 2..=3 {
        let records = script.whole(height);
        running.give([script.delivery(records)]);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(*running.paused.lock().unwrap(), BTreeSet::from([0]));
    running.stop.cancel();
    assert!(tokio::time::timeout(Duration::from_secs(60), &mut running.task).await.is_err());
    running.store.gate.add_permits(OPEN);
    assert_eq!(tokio::time::timeout(PATIENCE, running.task).await.unwrap().unwrap(), Ok(()));
    let values: Vec<u32> = running.store.of(0).iter().flat_map(Step::values).collect();
    assert_eq!(values, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn stopping_does_not_wait_for_a_store_that_cannot_say_where_it_stands() {
    let running =
        start(RunnerOptions::default(), OPEN, &vec![StoreError::Unavailable("away".to_owned()); 9_999]);
    running.give([Ok(Delivery::Assigned(0))]);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!running.task.is_finished());
    running.stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(1), running.task).await.unwrap().unwrap();
    assert_eq!(ended, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_log_that_fails_ends_the_runner_once_what_was_begun_is_finished() {
    let mut running = start(RunnerOptions::default(), 0, &[]);
    let records = Script::new(0).whole(1);
    running.give([Ok(Delivery::Assigned(0)), Ok(Delivery::Records(0, records, Span::none()))]);
    running.writes(1).await;
    let failed = LogError::Failed("no broker".to_owned());
    running.give([Err(failed.clone())]);
    assert!(tokio::time::timeout(Duration::from_secs(60), &mut running.task).await.is_err());
    running.store.gate.add_permits(OPEN);
    let ended = tokio::time::timeout(PATIENCE, running.task).await.unwrap().unwrap();
    assert_eq!(ended, Err(RunnerError::Log(failed)));
    assert_eq!(running.store.of(0), [commit(&[1], 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_log_that_cannot_pause_ends_the_runner_once_what_was_begun_is_finished() {
    let options = RunnerOptions { deliveries_max: 1, ..RunnerOptions::default() };
    let mut running = start(options, 0, &[]);
    let mut script = Script::new(RESTLESS);
    let first = script.whole(1);
    running.give([Ok(Delivery::Assigned(RESTLESS)), script.delivery(first)]);
    running.writes(1).await;
    for height in 2..=3 {
        let records = script.whole(height);
        running.give([script.delivery(records)]);
    }
    assert!(tokio::time::timeout(Duration::from_secs(60), &mut running.task).await.is_err());
    running.store.gate.add_permits(OPEN);
    let ended = tokio::time::timeout(PATIENCE, running.task).await.unwrap().unwrap();
    assert_eq!(ended, Err(RunnerError::Log(LogError::Failed("it cannot be paused".to_owned()))));
    let values: Vec<u32> = running.store.of(RESTLESS).iter().flat_map(Step::values).collect();
    assert_eq!(values, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_partition_goes_on_from_where_the_store_stands() {
    let mut running = start(RunnerOptions::default(), OPEN, &[]);
    let mut script = Script::new(5);
    let records = script.whole(1);
    running.give([Ok(Delivery::Assigned(5)), script.delivery(records)]);
    running.at_height(5, 1).await;
    let position = script.at;
    let lost = script.whole(2);
    running.give([Ok(Delivery::Revoked(5)), script.delivery(lost.clone()), Ok(Delivery::Assigned(5))]);
    running.give([script.delivery(lost)]);
    running.at_height(5, 2).await;
    assert_eq!(*running.seeks.lock().unwrap(), [(5, Position::START), (5, position)]);
    assert_eq!(running.end().await.1.of(5), [commit(&[1], 1), commit(&[2], 2)]);
}

/// A rebalance that takes a partition away and gives it back at once: what was begun is left, and done anew.
#[tokio::test(start_paused = true)]
async fn a_partition_given_back_at_once_has_one_worker() {
    let mut running = start(RunnerOptions::default(), 0, &[]);
    let mut script = Script::new(0);
    let (one, two) = (script.whole(1), script.whole(2));
    running.give([Ok(Delivery::Assigned(0)), script.delivery(one.clone())]);
    running.writes(1).await;
    running.give([Ok(Delivery::Revoked(0)), Ok(Delivery::Assigned(0))]);
    running.give([script.delivery(one), script.delivery(two)]);
    running.writes(2).await;
    running.store.gate.add_permits(OPEN);
    running.at_height(0, 2).await;
    assert_eq!(*running.seeks.lock().unwrap(), [(0, Position::START); 2]);
    let values: Vec<u32> = running.end().await.1.of(0).iter().flat_map(Step::values).collect();
    assert_eq!(values, [1, 2]);
}
