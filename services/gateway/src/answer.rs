//! An answer: its bytes, and the headers that say at which block it is true.

use crate::cache::Entry;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// The height of the block at which everything in the answer is true and complete.
pub(crate) const AS_OF_HEIGHT: HeaderName = HeaderName::from_static("x-as-of-height");
/// That block's header hash.
pub(crate) const AS_OF_HASH: HeaderName = HeaderName::from_static("x-as-of-hash");
/// Whole seconds since the chain was last heard from.
pub(crate) const AS_OF_AGE: HeaderName = HeaderName::from_static("x-as-of-age");
/// The height of the node's peak.
pub(crate) const TIP_HEIGHT: HeaderName = HeaderName::from_static("x-tip-height");

/// An answer to a request for data.
pub(crate) struct Answer {
    pub(crate) entry: Arc<Entry>,
    pub(crate) peak_height: u32,
    pub(crate) age_seconds: u64,
}

impl Answer {
    /// The response: without its body, if the client has it already.
    pub(crate) fn respond(self, request: &HeaderMap) -> Response {
        let entry = &self.entry;
        let known = request.get_all(header::IF_NONE_MATCH).iter().any(|value| names(value, &entry.etag));
        let mut response = if known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let mut response = Body::from(entry.body.clone()).into_response();
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, json);
            response
        };
        let block = entry.as_of.block;
        let headers = response.headers_mut();
        headers.insert(header::ETAG, entry.etag.clone());
        // kept by caches, but asked about each time: an answer is never older than the service's own
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
        headers.insert(AS_OF_HEIGHT, HeaderValue::from(block.height));
        headers.insert(AS_OF_AGE, HeaderValue::from(self.age_seconds));
        headers.insert(TIP_HEIGHT, HeaderValue::from(self.peak_height));
        if let Ok(hash) = HeaderValue::from_str(&block.hash.to_string()) {
            headers.insert(AS_OF_HASH, hash);
        }
        response
    }
}

/// Whether an `If-None-Match` names an ETag.
fn names(value: &HeaderValue, etag: &HeaderValue) -> bool {
    let (Ok(value), Ok(etag)) = (value.to_str(), etag.to_str()) else { return false };
    value.split(',').map(str::trim).any(|named| named == "*" || named.trim_start_matches("W/") == etag)
}
