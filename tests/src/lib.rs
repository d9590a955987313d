//! What the tests share.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

pub mod clvm;
pub mod data;
pub mod wallet;
