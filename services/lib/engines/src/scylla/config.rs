//! Settings of the CQL store.

use crate::Secret;
use crate::settings::together;
use mojoscan_pipeline::StoreError;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of the CQL store.
#[derive(Debug, Clone, clap::Args)]
pub struct CqlConfig {
    /// Nodes of the ScyllaDB or Cassandra cluster, as host:port, separated by commas. The others are found through them.
    #[arg(
        long = "cql",
        env = "MOJOSCAN_CQL",
        default_value = "127.0.0.1:9042",
        value_delimiter = ',',
        value_name = "HOST:PORT"
    )]
    pub cql: Vec<String>,

    /// The keyspace. It belongs to one network and one record log.
    #[arg(long, env = "MOJOSCAN_KEYSPACE", default_value = "mojoscan", value_name = "NAME")]
    pub keyspace: String,

    /// The user to log in as. Without, the cluster must ask for none.
    #[arg(long, env = "MOJOSCAN_CQL_USER", value_name = "NAME")]
    pub cql_user: Option<String>,

    /// The user's password. Better given by the environment than on the command line.
    #[arg(long, env = "MOJOSCAN_CQL_PASSWORD", hide_env_values = true, value_name = "TEXT")]
    pub cql_password: Option<Secret>,

    /// Certificates of the authorities, in PEM, that may vouch for the nodes. Switches TLS on. A node's certificate
    /// must name its IP address.
    #[arg(long, env = "MOJOSCAN_CQL_CA", value_name = "FILE")]
    pub cql_ca: Option<PathBuf>,

    /// The certificate to show to the nodes, in PEM.
    #[arg(long, env = "MOJOSCAN_CQL_CERTIFICATE", value_name = "FILE")]
    pub cql_certificate: Option<PathBuf>,

    /// The key of that certificate, in PEM.
    #[arg(long, env = "MOJOSCAN_CQL_KEY", value_name = "FILE")]
    pub cql_key: Option<PathBuf>,

    /// Milliseconds that a request may take before it is repeated.
    #[arg(long, env = "MOJOSCAN_CQL_TIMEOUT_MS", default_value_t = 2_000, value_name = "MILLISECONDS",
          value_parser = clap::value_parser!(u64).range(10..=60_000))]
    pub cql_timeout_ms: u64,

    /// Requests of a projection in flight at a time.
    #[arg(long, env = "MOJOSCAN_CQL_IN_FLIGHT", default_value_t = 256, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=8_192))]
    pub cql_in_flight: u32,
}

impl CqlConfig {
    /// The default settings for these nodes and this keyspace.
    pub fn new(cql: Vec<String>, keyspace: &str) -> Self {
        Self {
            cql,
            keyspace: keyspace.to_owned(),
            cql_user: None,
            cql_password: None,
            cql_ca: None,
            cql_certificate: None,
            cql_key: None,
            cql_timeout_ms: 2_000,
            cql_in_flight: 256,
        }
    }

    /// Whether the settings go together. They may come from different places, so it is not asked when they are read.
    ///
    /// # Errors
    /// [`StoreError::Broken`] names the setting that lacks another, and the other.
    pub fn check(&self) -> Result<(), StoreError> {
        let user = ("--cql-user", self.cql_user.is_some());
        let password = ("--cql-password", self.cql_password.is_some());
        let certificate = ("--cql-certificate", self.cql_certificate.is_some());
        let key = ("--cql-key", self.cql_key.is_some());
        together(&[
            (user, &[password]),
            (password, &[user]),
            (certificate, &[("--cql-ca", self.cql_ca.is_some()), key]),
            (key, &[certificate]),
        ])
        .map_err(StoreError::Broken)
    }

    /// How long a request may take before it is repeated.
    pub const fn timeout(&self) -> Duration {
        Duration::from_millis(self.cql_timeout_ms)
    }

    /// The nodes, for people.
    pub(super) fn nodes(&self) -> String {
        self.cql.join(",")
    }
}
