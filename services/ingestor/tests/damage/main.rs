//! Sources that are damaged, or answer badly: a clear error, another attempt where one may help, and nothing published
//! from them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

mod database;
mod node;
mod peer;
mod recording;
mod rpc;
mod support;
