//! The one error envelope.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mojoscan_runtime::Code;
use serde::Serialize;

/// A failure, as the caller is told of it: never an internal detail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    /// A stable name, for programs.
    pub(crate) code: &'static str,
    /// For people: names the parameter, and what is allowed.
    pub(crate) message: String,
}

/// The body of a failure.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Failure {
    /// `failed`.
    #[schema(example = "failed")]
    pub(crate) status: &'static str,
    /// A stable name of what went wrong.
    #[schema(example = "invalid_address")]
    pub(crate) code: &'static str,
    /// For people: names the parameter and what is allowed.
    pub(crate) message: String,
    /// The id of the request, also in `x-request-id`.
    pub(crate) request_id: String,
}

/// Seconds after which an unavailable service is worth asking again.
const RETRY_AFTER_SECONDS: u32 = 2;

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub(crate) fn bad_request(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn unavailable(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    pub(crate) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "something went wrong on our side")
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "unknown_path", "there is nothing at this path; see /openapi.json")
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "this path is not served with this method; see /openapi.json";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
    }

    /// What a failed call to a service means to the caller of ours.
    pub(crate) fn from_service(service: &'static str, status: &tonic::Status) -> Self {
        match Code::from_status(status) {
            Code::Unavailable => {
                tracing::warn!(service, %status, "a service does not answer");
                Self::unavailable("upstream_unavailable", "a service behind this one does not answer")
            }
            Code::InvalidArgument | Code::NotFound | Code::OutOfRange | Code::Internal => {
                tracing::error!(service, %status, "a service failed");
                Self::internal()
            }
        }
    }

    /// The body, once the request's id is known.
    pub(crate) fn body(&self, request_id: &str) -> Failure {
        let (message, request_id) = (self.message.clone(), request_id.to_owned());
        Failure { status: "failed", code: self.code, message, request_id }
    }
}

impl IntoResponse for ApiError {
    /// Without a body: the edge writes it, because it knows the request's id.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
        }
        response.extensions_mut().insert(self);
        response
    }
}
