//! A group of tasks that lives and ends together.
//!
//! A task that ends ends the process: either it was told to, or something is wrong. On SIGTERM (or SIGINT) every task
//! is told to stop and given time; a second signal ends the process at once.

use crate::exit::Failure;
use std::future::Future;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// Time for tasks to end once they were told to.
pub const GRACE: Duration = Duration::from_secs(30);

/// How a task ended, with its name.
type Ended = (&'static str, Result<(), Failure>);

/// A group of tasks.
#[must_use = "tasks end when their group is dropped"]
pub struct Tasks {
    set: JoinSet<Ended>,
    stop: CancellationToken,
}

impl Default for Tasks {
    fn default() -> Self {
        Self { set: JoinSet::new(), stop: CancellationToken::new() }
    }
}

impl Tasks {
    /// What tells the tasks to stop.
    pub fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Adds a task. It should end soon after [`Tasks::stop`] is cancelled.
    pub fn spawn(
        &mut self,
        name: &'static str,
        task: impl Future<Output = Result<(), Failure>> + Send + 'static,
    ) {
        self.set.spawn(async move { (name, task.await) });
    }

    /// Runs until a signal comes or a task ends, then ends the others.
    ///
    /// # Errors
    /// The failure of the task that failed first.
    pub async fn run(mut self) -> Result<(), Failure> {
        let first = tokio::select! {
            () = terminated() => { info!("stopping"); Ok(()) }
            ended = self.set.join_next() => self.ended(ended),
        };
        self.stop.cancel();
        let rest = tokio::select! {
            rest = tokio::time::timeout(GRACE, self.drain()) => rest.unwrap_or_else(|_| {
                warn!("some tasks did not end in time");
                Ok(())
            }),
            () = terminated() => { warn!("stopping at once"); Ok(()) }
        };
        first.and(rest)
    }

    async fn drain(&mut self) -> Result<(), Failure> {
        let mut all = Ok(());
        while let Some(ended) = self.set.join_next().await {
            all = all.and(self.ended(Some(ended)));
        }
        all
    }

    fn ended(&self, ended: Option<Result<Ended, JoinError>>) -> Result<(), Failure> {
        match ended {
            None | Some(Ok((_, Ok(())))) => Ok(()),
            Some(Ok((task, Err(failure)))) => {
                error!(task, reason = %failure, "task failed");
                Err(failure)
            }
            Some(Err(error)) => Err(Failure::failed(format!("a task panicked: {error}"))),
        }
    }
}

/// Waits for SIGTERM or SIGINT, from now on: also one that comes before the waiting begins is heard.
pub fn terminated() -> impl Future<Output = ()> {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut term), Ok(mut interrupt)) = signals else {
            warn!("signals cannot be heard; stop the process with SIGKILL");
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
