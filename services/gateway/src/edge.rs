//! What is done around every request: its id, its limits, the error envelope, CORS, metrics.

use crate::answer::{AS_OF_AGE, AS_OF_HASH, AS_OF_HEIGHT, TIP_HEIGHT};
use crate::error::{ApiError, ErrorCode};
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use opentelemetry::metrics::Histogram;
use opentelemetry::{KeyValue, global};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tower_http::cors::{Any, CorsLayer};
use tracing::{Instrument, info_span};

/// The id of a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest request target, in bytes.
pub(crate) const URI_BYTES_MAX: usize = 8 * 1024;
/// Longest request id taken over from a client, in characters.
const REQUEST_ID_MAX: usize = 128;
/// Longest time for a request.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(5);

/// What the edge needs.
#[derive(Clone)]
pub(crate) struct Edge {
    places: Arc<Semaphore>,
    durations: Histogram<f64>,
}

impl Edge {
    /// An edge that lets so many requests in at a time.
    pub(crate) fn new(requests_max: u32) -> Self {
        let durations = global::meter("mojoscan")
            .f64_histogram("http_server_request_duration")
            .with_unit("s")
            .with_boundaries(vec![
                0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
            ])
            .build();
        Self { places: Arc::new(Semaphore::new(requests_max as usize)), durations }
    }
}

/// Headers that scripts of other origins may read.
pub(crate) const EXPOSED: [HeaderName; 7] =
    [AS_OF_HEIGHT, AS_OF_HASH, AS_OF_AGE, TIP_HEIGHT, REQUEST_ID, header::ETAG, header::RETRY_AFTER];

/// Everything may be read from anywhere.
pub(crate) fn cors() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(Any)
        .allow_headers(Any)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::OPTIONS])
        .expose_headers(EXPOSED)
        .max_age(Duration::from_secs(24 * 3600))
        // answers are the same for every origin: caches may share them
        .vary([])
}

/// Gives the request an id, its response that id, and a failure its envelope.
pub(crate) async fn wrap(State(edge): State<Edge>, mut request: Request, next: Next) -> Response {
    let id = request_id(&request);
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let (method, started) = (request.method().clone(), Instant::now());
    if let Ok(value) = HeaderValue::from_str(&id) {
        request.headers_mut().insert(REQUEST_ID, value);
    }
    let span = info_span!("request", %method, route, request_id = id);
    mojoscan_runtime::telemetry::extract(&span, request.headers());
    let mut response = next.run(request).instrument(span).await;
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        write_envelope(&mut response, &error, &id);
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, value);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let labels = [
        KeyValue::new("http.route", route),
        KeyValue::new("http.request.method", method.to_string()),
        KeyValue::new("http.response.status_code", i64::from(response.status().as_u16())),
    ];
    edge.durations.record(started.elapsed().as_secs_f64(), &labels);
    response
}

/// Refuses what is too large or too much, and what takes too long.
pub(crate) async fn limit(State(edge): State<Edge>, request: Request, next: Next) -> Response {
    let length = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if length > URI_BYTES_MAX {
        let message = format!("the request target has {length} bytes; at most {URI_BYTES_MAX} are taken");
        return ApiError::bad_request(ErrorCode::UriTooLong, message).into_response();
    }
    let Ok(_place) = edge.places.try_acquire() else {
        return ApiError::unavailable(ErrorCode::Overloaded, "too many requests at a time; try again soon")
            .into_response();
    };
    match tokio::time::timeout(REQUEST_TIME_MAX, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            ApiError::unavailable(ErrorCode::Timeout, "the answer took too long; try again").into_response()
        }
    }
}

fn write_envelope(response: &mut Response, error: &ApiError, request_id: &str) {
    match serde_json::to_vec(&error.body(request_id)) {
        Ok(body) => {
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.remove(header::CONTENT_LENGTH);
            *response.body_mut() = Body::from(body);
        }
        Err(_) => *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The client's id, if it is one that can be echoed; else a new one.
fn request_id(request: &Request) -> String {
    let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
    given
        .filter(|id| {
            (1..=REQUEST_ID_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
        })
        .map_or_else(new_request_id, str::to_owned)
}

/// A request id that nobody has had.
pub(crate) fn new_request_id() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}
