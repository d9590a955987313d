//! The connection to the cluster: prepares statements, reads rows, writes batches.

use super::breaker::Breaker;
use super::write::{Batch, Values, Writes};
use super::{CqlConfig, error, tls};
use backon::{ExponentialBuilder, Retryable};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use mojoscan_pipeline::StoreError;
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::deserialize::row::DeserializeRow;
use scylla::errors::ExecutionError;
use scylla::frame::types::Consistency;
use scylla::response::query_result::{ColumnSpecs, QueryResult};
use scylla::serialize::row::SerializeRow;
use scylla::statement::prepared::PreparedStatement;
use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time;

/// How long connecting may take in all.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long one connection may take.
const CONNECTION_MAX: Duration = Duration::from_secs(3);
/// How often a request is repeated.
const REPEATS_MAX: usize = 3;
/// Rows of a page of a scan.
const SCAN_PAGE: i32 = 2_000;

/// A connection to a keyspace.
#[derive(Clone)]
pub struct Cql {
    inner: Arc<Inner>,
}

struct Inner {
    session: Session,
    keyspace: String,
    breaker: Breaker,
    /// A permit for each request of a projection in flight.
    permits: Semaphore,
    in_flight: usize,
}

/// A statement, prepared. It may be repeated, and is sent to a replica of the partition it is about.
#[derive(Debug, Clone)]
pub struct Statement {
    prepared: PreparedStatement,
    table: u64,
}

impl Cql {
    /// Connects to a keyspace that is there already.
    ///
    /// # Errors
    /// Within 15 seconds, in one line: no node answers, the login is refused, or there is no such keyspace.
    pub async fn connect(config: &CqlConfig) -> Result<Self, StoreError> {
        let session = connect(config).await?;
        let in_flight = config.cql_in_flight as usize;
        let cql = Self {
            inner: Arc::new(Inner {
                session,
                keyspace: config.keyspace.clone(),
                breaker: Breaker::default(),
                permits: Semaphore::new(in_flight),
                in_flight,
            }),
        };
        let known = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?";
        let known = cql.prepare(known).await?;
        let name = config.keyspace.as_str();
        if cql.find::<(String,)>(&known, (name,)).await?.is_none() {
            return Err(StoreError::Broken(format!(
                "there is no keyspace {name} at {}: run `mojoscan migrate`",
                config.nodes()
            )));
        }
        let used = cql.inner.session.use_keyspace(name, true).await;
        used.map_err(|error| StoreError::Broken(format!("cannot use the keyspace {name}: {error}")))?;
        Ok(cql)
    }

    /// The keyspace's name.
    pub fn keyspace(&self) -> &str {
        &self.inner.keyspace
    }

    /// How many requests a caller may have in flight at a time.
    pub fn in_flight(&self) -> usize {
        self.inner.in_flight
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// [`StoreError::Broken`] if the tables are not those that the statement is made for.
    pub async fn prepare(&self, text: &str) -> Result<Statement, StoreError> {
        let prepared = self.inner.session.prepare(text).await;
        let mut prepared = prepared.map_err(|error| error::prepare(text, &error))?;
        prepared.set_is_idempotent(true);
        prepared.set_use_cached_result_metadata(true);
        let mut hasher = DefaultHasher::new();
        prepared.get_table_name().hash(&mut hasher);
        Ok(Statement { prepared, table: hasher.finish() })
    }

    /// The rows of one partition. Reads all of them at once: the statement must bound their number.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the store does not answer; [`StoreError::Broken`] if a row cannot be read.
    pub async fn rows<R>(
        &self,
        statement: &Statement,
        values: impl SerializeRow,
    ) -> Result<Vec<R>, StoreError>
    where
        R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata>,
    {
        let result = self.ask(|| self.inner.session.execute_unpaged(&statement.prepared, &values)).await?;
        let rows = result.into_rows_result().map_err(error::damaged)?;
        let rows = rows.rows::<R>().map_err(error::damaged)?;
        rows.collect::<Result<_, _>>().map_err(error::damaged)
    }

    /// The first row of one partition, if there is one.
    ///
    /// # Errors
    /// As [`Cql::rows`].
    pub async fn find<R>(
        &self,
        statement: &Statement,
        values: impl SerializeRow,
    ) -> Result<Option<R>, StoreError>
    where
        R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata>,
    {
        Ok(self.rows(statement, values).await?.into_iter().next())
    }

    /// The rows of a partition or a whole table, page by page.
    ///
    /// # Errors
    /// As [`Cql::rows`].
    pub async fn scan<R>(
        &self,
        statement: &Statement,
        values: impl SerializeRow,
    ) -> Result<BoxStream<'static, Result<R, StoreError>>, StoreError>
    where
        R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata> + Send + 'static,
    {
        self.inner.breaker.pass()?;
        let mut prepared = statement.prepared.clone();
        prepared.set_page_size(SCAN_PAGE);
        let unavailable = |error: &dyn std::error::Error| {
            StoreError::Unavailable(format!("the CQL store failed in the middle of a scan: {error}"))
        };
        let pager = self.inner.session.execute_iter(prepared, values).await;
        let rows = pager.map_err(|error| unavailable(&error))?;
        let rows = rows.rows_stream::<R>().map_err(error::damaged)?;
        Ok(rows.map_err(move |error| unavailable(&error)).boxed())
    }

    /// Does many reads, in any order, a number of them at a time. `read` is called for each item.
    ///
    /// # Errors
    /// The first error of a read.
    pub async fn each<T, R, F>(
        &self,
        items: impl IntoIterator<Item = T>,
        read: impl Fn(T) -> F,
    ) -> Result<Vec<R>, StoreError>
    where
        F: Future<Output = Result<R, StoreError>>,
    {
        stream::iter(items)
            .map(|item| {
                let answer = read(item);
                async {
                    let _permit = self.permit().await?;
                    answer.await
                }
            })
            .buffer_unordered(self.inner.in_flight)
            .try_collect()
            .await
    }

    /// Does writes, in any order, a number of batches at a time, all with one timestamp. When it returns well, every
    /// one of them has reached a quorum.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the store does not answer: which of them took place is not known.
    pub async fn write(&self, timestamp: u64, writes: Writes) -> Result<(), StoreError> {
        let timestamp =
            i64::try_from(timestamp).map_err(|_| error::damaged("a sequence number is too large"))?;
        stream::iter(writes.into_batches())
            .map(|batch| self.send(batch, timestamp))
            .buffer_unordered(self.inner.in_flight)
            .try_collect()
            .await
    }

    async fn send(&self, batch: Batch, timestamp: i64) -> Result<(), StoreError> {
        fail::fail_point!("cql-write", |_| Err(StoreError::Unavailable("a test stopped here".to_owned())));
        let (batch, rows): (_, Vec<Values>) = batch.with_timestamp(timestamp);
        let _permit = self.permit().await?;
        self.ask(|| self.inner.session.batch(&batch, &rows)).await?;
        Ok(())
    }

    async fn permit(&self) -> Result<tokio::sync::SemaphorePermit<'_>, StoreError> {
        // fails only if somebody closes the semaphore, which nobody does
        self.inner.permits.acquire().await.map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    /// Sends a request; repeats it a few times if it fails in passing.
    async fn ask<F>(&self, request: impl Fn() -> F) -> Result<QueryResult, StoreError>
    where
        F: Future<Output = Result<QueryResult, ExecutionError>>,
    {
        let backoff = ExponentialBuilder::default()
            .with_jitter()
            .with_min_delay(Duration::from_millis(30))
            .with_max_delay(Duration::from_millis(500))
            .with_max_times(REPEATS_MAX);
        let attempt = || async {
            self.inner.breaker.pass().map_err(|open| (false, open))?;
            let answer = request().await.map_err(|failed| error::request(&failed));
            self.inner.breaker.note(!matches!(answer, Err(StoreError::Unavailable(_))));
            answer.map_err(|failed| (matches!(failed, StoreError::Unavailable(_)), failed))
        };
        attempt.retry(backoff).when(|(again, _)| *again).await.map_err(|(_, failed)| failed)
    }
}

impl Statement {
    /// Which table it is about, as a number.
    pub(super) const fn table(&self) -> u64 {
        self.table
    }

    pub(super) fn columns(&self) -> ColumnSpecs<'_, 'static> {
        self.prepared.get_variable_col_specs()
    }

    /// Where the ring keeps the partition that a row belongs to.
    pub(super) fn token(&self, row: &Values) -> Result<i64, StoreError> {
        let token = self.prepared.calculate_token(row);
        let token = token.map_err(|error| StoreError::Broken(format!("cannot route a row: {error}")))?;
        Ok(token.map_or(0, |token| token.value()))
    }

    pub(super) fn into_prepared(self) -> PreparedStatement {
        self.prepared
    }
}

/// Connects to the cluster, whatever keyspaces it has.
pub(super) async fn connect(config: &CqlConfig) -> Result<Session, StoreError> {
    config.check()?;
    let profile = ExecutionProfile::builder()
        .consistency(Consistency::LocalQuorum)
        .request_timeout(Some(config.timeout()))
        .build();
    let mut builder = SessionBuilder::new()
        .known_nodes(&config.cql)
        .default_execution_profile_handle(profile.into_handle())
        .connection_timeout(CONNECTION_MAX)
        .keyspaces_to_fetch([&config.keyspace])
        .pool_size(PoolSize::PerHost(NonZeroUsize::MIN.saturating_add(3)))
        .tcp_nodelay(true)
        .tls_context(tls::context(config)?);
    if let (Some(user), Some(password)) = (&config.cql_user, &config.cql_password) {
        builder = builder.user(user, password.reveal());
    }
    match time::timeout(CONNECT_MAX, builder.build()).await {
        Ok(Ok(session)) => Ok(session),
        Ok(Err(failed)) => Err(error::connect(&config.nodes(), &failed)),
        Err(_) => {
            let seconds = CONNECT_MAX.as_secs();
            Err(StoreError::Unavailable(format!("--cql {}: no answer within {seconds} s", config.nodes())))
        }
    }
}
