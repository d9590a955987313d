//! The one error envelope.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mojoscan_runtime::Code;
use serde::Serialize;

/// What went wrong, for programs. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorCode {
    /// The address is none, or not spelled right.
    InvalidAddress,
    /// The address is one of another network.
    WrongNetwork,
    /// Names cannot be looked up at present.
    NamesUnavailable,
    /// More addresses than one answer is for.
    TooManyAddresses,
    /// A parameter has a value that it cannot have, or is given twice.
    InvalidParameter,
    /// A parameter that would change the answer and is not served.
    UnsupportedParameter,
    /// `network` is not the one served.
    UnknownNetwork,
    /// `Version` is not 1.
    UnknownVersion,
    /// More items than one answer can have.
    TooMany,
    /// The request target is too long.
    UriTooLong,
    /// Too many headers, or too long ones.
    HeadTooLarge,
    /// The request is not HTTP.
    MalformedRequest,
    /// There is nothing at this path.
    UnknownPath,
    /// The path is not served with this method.
    MethodNotAllowed,
    /// Something went wrong on our side.
    Internal,
    /// No block was read yet.
    NotReady,
    /// The chain was not heard from for too long.
    Stale,
    /// Blocks came between the parts of the answer.
    Moving,
    /// A service behind this one does not answer.
    UpstreamUnavailable,
    /// Too many requests at a time.
    Overloaded,
    /// The answer took too long.
    Timeout,
}

/// A failure, as the caller is told of it: never an internal detail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    /// For programs.
    pub(crate) code: ErrorCode,
    /// For people: names the parameter, and what is allowed.
    pub(crate) message: String,
}

/// The body of a failure.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Failure {
    /// `failed`.
    #[schema(example = "failed")]
    pub(crate) status: &'static str,
    /// What went wrong.
    pub(crate) code: ErrorCode,
    /// For people: names the parameter and what is allowed.
    pub(crate) message: String,
    /// The id of the request, also in `x-request-id`.
    pub(crate) request_id: String,
}

/// Seconds after which an unavailable service is worth asking again.
const RETRY_AFTER_SECONDS: u32 = 2;

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub(crate) fn bad_request(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn unavailable(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    pub(crate) fn not_ready() -> Self {
        Self::unavailable(ErrorCode::NotReady, "no block was read yet; try again soon")
    }

    pub(crate) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Internal, "something went wrong on our side")
    }

    pub(crate) fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            ErrorCode::UnknownPath,
            "there is nothing at this path; see /openapi.json",
        )
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "this path is not served with this method; see /openapi.json";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, ErrorCode::MethodNotAllowed, message)
    }

    /// What a failed call to a service means to the caller of ours.
    pub(crate) fn from_service(service: &'static str, status: &tonic::Status) -> Self {
        match Code::from_status(status) {
            Code::Unavailable => {
                tracing::warn!(service, %status, "a service does not answer");
                Self::unavailable(ErrorCode::UpstreamUnavailable, "a service behind this one does not answer")
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
