//! `migrate`: makes the keyspace and its tables.

use super::cql_failure;
use crate::cli::ConfigFile;
use mojoscan_address::store::scylla::SCHEMA;
use mojoscan_engines::scylla::{Copies, CqlConfig, migrate};
use mojoscan_runtime::exit::{self, Failure};

/// Which keyspace.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct MigrateOptions {
    /// Copies of each row. A keyspace that is there already must keep as many. Without, a new one keeps three, or one
    /// for each node if there are fewer.
    #[arg(long, env = "MOJOSCAN_CQL_COPIES", value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=9))]
    copies: Option<u32>,

    #[command(flatten)]
    cql: CqlConfig,

    #[command(flatten)]
    file: ConfigFile,
}

pub(crate) async fn run(options: MigrateOptions) -> Result<(), Failure> {
    let copies = options.copies.map_or(Copies::Usual, Copies::Exactly);
    let applied = migrate(&options.cql, copies, &[SCHEMA]).await.map_err(|error| cql_failure(&error))?;
    exit::print(&format!("{}: {applied} versions applied\n", options.cql.keyspace))
}
