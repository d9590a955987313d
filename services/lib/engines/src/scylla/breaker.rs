//! Turns requests away at once while the store does not answer, so that callers hear so in no time and a store that
//! comes back is not flooded.

use mojoscan_pipeline::StoreError;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Failures in a row that open the breaker.
const FAILURES_MAX: u32 = 32;
/// How long it stays open before one request is let through to see.
const PAUSE: Duration = Duration::from_millis(500);

/// Counts failures in a row.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// When the next request may pass; none while the breaker is closed.
    next: Option<Instant>,
}

impl Breaker {
    /// Lets a request pass, or turns it away.
    pub(super) fn pass(&self) -> Result<(), StoreError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match state.next {
            Some(next) if now < next => {
                let failures = state.failures;
                Err(StoreError::Unavailable(format!(
                    "the CQL store does not answer ({failures} failures in a row)"
                )))
            }
            Some(_) => {
                // this one sees whether the store is back; the others wait for what it finds
                state.next = Some(now + PAUSE);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Notes how a request that was let through has ended.
    pub(super) fn note(&self, answered: bool) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if answered {
            *state = State::default();
            return;
        }
        state.failures = state.failures.saturating_add(1);
        if state.failures >= FAILURES_MAX {
            state.next = Some(Instant::now() + PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_after_many_failures_and_closes_at_the_first_answer() {
        let breaker = Breaker::default();
        for _ in 0..FAILURES_MAX {
            assert_eq!(breaker.pass(), Ok(()));
            breaker.note(false);
        }
        assert!(matches!(breaker.pass(), Err(StoreError::Unavailable(_))));
        breaker.note(true);
        assert_eq!(breaker.pass(), Ok(()));
    }

    #[test]
    fn one_request_is_let_through_after_a_pause() {
        let breaker = Breaker::default();
        let past = Instant::now().checked_sub(Duration::from_millis(1)).unwrap();
        *breaker.0.lock().unwrap() = State { failures: FAILURES_MAX, next: Some(past) };
        assert_eq!(breaker.pass(), Ok(()));
        assert!(breaker.pass().is_err(), "the others wait");
    }
}
