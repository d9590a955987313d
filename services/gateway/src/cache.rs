//! Answers kept while they are true, and made once however many ask at a time.

use crate::clients::AsOf;
use crate::error::ApiError;
use axum::body::Bytes;
use axum::http::HeaderValue;
use mojoscan_domain::PuzzleHash;
use moka::future::Cache;
use opentelemetry::global;
use opentelemetry::metrics::Counter;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::future::Future;
use std::sync::Arc;

/// A request, reduced to what its answer depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The route.
    pub(crate) route: &'static str,
    /// Whom it asks for.
    pub(crate) owners: Vec<PuzzleHash>,
    /// Its other parameters, in a fixed order.
    pub(crate) parameters: Vec<u64>,
}

/// An answer as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) body: Bytes,
    pub(crate) etag: HeaderValue,
    pub(crate) as_of: AsOf,
}

impl Entry {
    pub(crate) fn new(as_of: AsOf, body: &impl Serialize) -> Result<Self, ApiError> {
        let body = serde_json::to_vec(body).map_err(|error| {
            tracing::error!(%error, "an answer cannot be written");
            ApiError::internal()
        })?;
        let hash = hex::encode(&Sha256::digest(&body)[..16]);
        let etag = HeaderValue::from_str(&format!("\"{hash}\"")).map_err(|_| ApiError::internal())?;
        Ok(Self { body: body.into(), etag, as_of })
    }
}

/// Answers kept while they are true: under the generation of the positions they were made from.
pub(crate) struct Answers {
    entries: Cache<(u64, Key), Arc<Entry>>,
    hits: Counter<u64>,
    misses: Counter<u64>,
}

impl Answers {
    /// A cache of at most so many bytes.
    pub(crate) fn new(bytes_max: u64) -> Self {
        let weigh =
            |_: &(u64, Key), entry: &Arc<Entry>| u32::try_from(entry.body.len() + 512).unwrap_or(u32::MAX);
        let meter = global::meter("mojoscan");
        let counter = |name| meter.u64_counter(name).build();
        Self {
            entries: Cache::builder().max_capacity(bytes_max).weigher(weigh).build(),
            hits: counter("gateway_cache_hits"),
            misses: counter("gateway_cache_misses"),
        }
    }

    /// The answer to a request. Of several that miss at a time one makes it, and the others wait for it.
    pub(crate) async fn get(
        &self,
        generation: u64,
        key: Key,
        make: impl Future<Output = Result<Entry, ApiError>>,
    ) -> Result<Arc<Entry>, ApiError> {
        let key = (generation, key);
        if let Some(entry) = self.entries.get(&key).await {
            self.hits.add(1, &[]);
            return Ok(entry);
        }
        self.misses.add(1, &[]);
        let made = self.entries.try_get_with(key, async { make.await.map(Arc::new) }).await;
        made.map_err(|error: Arc<ApiError>| (*error).clone())
    }
}
