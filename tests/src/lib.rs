//! What the tests share.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

pub mod bench;
pub mod branch;
pub mod chain;
pub mod clvm;
pub mod collector;
pub mod data;
pub mod engines;
pub mod fleet;
pub mod forger;
pub mod http;
pub mod lab;
pub mod node_file;
pub mod rebuild;
pub mod record_log;
pub mod recorded;
pub mod recorder;
pub mod seeds;
pub mod service;
pub mod trial;
pub mod wait;
pub mod wallet;
pub mod watcher;
pub mod whole;
pub mod world;
