//! The REST edge. A handler validates, calls, composes and answers; what all of them share is done once, around them.
//!
//! What flows in: requests, and the positions that services stream. What flows out: answers that are complete and true
//! at the block they name, or one error envelope. [`routes`] lists every path.
//!
//! Invariant: the gateway knows no store and no broker, and of tonic only what [`clients`] need.

mod address;
mod answer;
mod cache;
pub mod clients;
mod config;
mod edge;
mod error;
mod gateway;
mod number;
mod openapi;
mod query;
mod refusal;
mod routes;
mod serve;

pub use config::GatewayConfig;
pub use gateway::Gateway;
pub use routes::router;
pub use serve::serve;
