//! Whether a process is alive, and whether it can do its work.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a part of the process says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// It can do its work.
    pub ready: bool,
    /// What a person wants to know: lag, reasons.
    pub details: Value,
}

impl Condition {
    /// A part that can do its work.
    pub const fn ready(details: Value) -> Self {
        Self { ready: true, details }
    }

    /// A part that cannot.
    pub fn not_ready(reason: &str) -> Self {
        Self { ready: false, details: json!({ "reason": reason }) }
    }
}

type Probe = Box<dyn Fn() -> Condition + Send + Sync>;

/// The parts of a process that decide whether it is ready. Cheap to clone.
#[derive(Clone, Default)]
pub struct Health {
    parts: Arc<Mutex<BTreeMap<String, Probe>>>,
}

impl Health {
    /// Adds a part: it is asked whenever somebody asks the process.
    pub fn add(&self, name: &str, probe: impl Fn() -> Condition + Send + Sync + 'static) {
        self.parts().insert(name.to_owned(), Box::new(probe));
    }

    /// Whether every part is ready, and what each says.
    pub fn check(&self) -> (bool, Value) {
        let conditions: BTreeMap<String, Condition> =
            self.parts().iter().map(|(name, probe)| (name.clone(), probe())).collect();
        let ready = conditions.values().all(|condition| condition.ready);
        let parts: serde_json::Map<String, Value> = conditions
            .into_iter()
            .map(|(name, condition)| {
                (name, json!({ "ready": condition.ready, "details": condition.details }))
            })
            .collect();
        (ready, json!({ "ready": ready, "parts": parts }))
    }

    fn parts(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Probe>> {
        // the map is never left half-changed
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
