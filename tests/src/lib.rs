//! What the tests share.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

pub mod chain;
pub mod clvm;
pub mod data;
pub mod http;
pub mod lab;
pub mod recorder;
pub mod service;
pub mod trial;
pub mod wait;
pub mod wallet;
pub mod world;
