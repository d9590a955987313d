//! Settings of the gateway.

use std::time::Duration;

/// Settings of the gateway.
#[derive(Debug, Clone, clap::Args)]
pub struct GatewayConfig {
    /// Answers whose data was last heard from the chain longer ago than this many seconds are refused.
    #[arg(long, env = "MOJOSCAN_MAX_STALENESS_SECONDS", default_value_t = 3_600, value_name = "SECONDS")]
    pub max_staleness_seconds: u64,

    /// Memory for cached answers, in MiB.
    #[arg(long, env = "MOJOSCAN_CACHE_MIB", default_value_t = 64, value_name = "MIB",
          value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub cache_mib: u64,

    /// Requests worked on at a time; what comes above is refused at once.
    #[arg(long, env = "MOJOSCAN_REQUESTS_MAX", default_value_t = 1_024, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub requests_max: u32,

    /// Connections held at a time; more wait.
    #[arg(long, env = "MOJOSCAN_CONNECTIONS_MAX", default_value_t = 16_384, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections_max: u32,
}

impl GatewayConfig {
    /// Longest time since the chain was last heard from.
    pub const fn max_staleness(&self) -> Duration {
        Duration::from_secs(self.max_staleness_seconds)
    }
}
