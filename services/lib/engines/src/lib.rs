//! What the adapters to storage engines share. The adapters themselves stand with the projections they serve.

pub mod embedded;
pub mod kafka;
pub mod scylla;
mod secret;
mod settings;

pub use secret::Secret;
