//! What every process does alike: configuration ([`config`]), telemetry, health and metrics ([`admin`]), a group of
//! tasks that lives and ends together ([`tasks`]), how catching up is told ([`progress`]), and the one vocabulary of
//! failures ([`Code`]).

pub mod admin;
mod code;
pub mod config;
pub mod exit;
pub mod health;
mod metrics;
pub mod progress;
pub mod tasks;
pub mod telemetry;

pub use code::Code;
pub use prometheus::Registry;
