//! A keyspace for one test.

use crate::conformance::DUST_BELOW;
use mojoscan_address::store::scylla::{SCHEMA, ScyllaAddressOptions, ScyllaAddressStore};
use mojoscan_engines::scylla::{Copies, Cql, CqlConfig, migrate};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Tables whose rows are the same whatever way led to them.
const TABLES: [&str; 7] = [
    "address_owners",
    "address_accounts",
    "address_balances",
    "address_coins",
    "address_coin_numbers",
    "address_items",
    "address_nfts",
];
/// How long a change of the schema may take.
const SCHEMA_CHANGE: Duration = Duration::from_secs(60);

/// A keyspace with the tables of addresses.
pub(crate) struct Keyspace {
    pub(crate) config: CqlConfig,
}

impl Keyspace {
    /// Makes one.
    pub(crate) async fn make(address: &str) -> Self {
        let config = fresh(address);
        migrate(&config, Copies::Usual, &[SCHEMA]).await.unwrap();
        Self { config }
    }

    /// Opens its tables, over a connection of its own.
    pub(crate) async fn open(&self, undo_depth: u32) -> ScyllaAddressStore {
        let cql = Cql::connect(&self.config).await.unwrap();
        ScyllaAddressStore::open(&cql, &options(undo_depth)).await.unwrap()
    }

    /// Every row, as JSON, of the tables whose rows are the same whatever way led to them.
    pub(crate) async fn rows(&self) -> BTreeMap<&'static str, BTreeSet<String>> {
        let session = plain(&self.config).await;
        let mut all = BTreeMap::new();
        for table in TABLES {
            let text = format!("SELECT JSON * FROM {}.{table}", self.config.keyspace);
            let rows = session.query_unpaged(text, ()).await.unwrap().into_rows_result().unwrap();
            let rows = rows.rows::<(String,)>().unwrap().map(|row| row.unwrap().0);
            all.insert(table, rows.collect());
        }
        all
    }

    /// How many rows a table has.
    pub(crate) async fn count(&self, table: &str) -> i64 {
        let text = format!("SELECT count(*) FROM {}.{table}", self.config.keyspace);
        let rows = plain(&self.config).await.query_unpaged(text, ()).await.unwrap();
        rows.into_rows_result().unwrap().single_row::<(i64,)>().unwrap().0
    }

    /// Takes it away.
    pub(crate) async fn drop(self) {
        let mut statement =
            scylla::statement::Statement::new(format!("DROP KEYSPACE {}", self.config.keyspace));
        statement.set_request_timeout(Some(SCHEMA_CHANGE));
        plain(&self.config).await.query_unpaged(statement, ()).await.unwrap();
    }
}

/// The settings for a keyspace that is not there yet.
pub(crate) fn fresh(address: &str) -> CqlConfig {
    let mut config = CqlConfig::new(vec![address.to_owned()], &format!("test_{:016x}", fastrand::u64(..)));
    // a loaded machine may be slow to answer
    config.cql_timeout_ms = 20_000;
    config
}

/// What the tables of the tests are for.
pub(crate) fn options(undo_depth: u32) -> ScyllaAddressOptions {
    ScyllaAddressOptions {
        network: "simulator0".to_owned(),
        log: "a log".to_owned(),
        partitions: 3,
        dust_below: DUST_BELOW,
        undo_depth,
    }
}

async fn plain(config: &CqlConfig) -> Session {
    SessionBuilder::new().known_nodes(&config.cql).build().await.unwrap()
}
