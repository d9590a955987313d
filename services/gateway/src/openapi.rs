//! The description of the interface: for programs as OpenAPI 3.1, for people as a page that needs no other host.

use crate::address;
use crate::error::ApiError;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use utoipa::OpenApi;

/// The interface.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Mojoscan",
        description = "Exact, reorg-proof data of the Chia blockchain. Every answer is true and complete at the block \
                       that its headers x-as-of-height and x-as-of-hash name. Failures have status, code, message and \
                       request_id. Cursors are sequence numbers: a page has the rows below its cursor, newest first, \
                       so pages never shift while blocks arrive."
    ),
    paths(
        address::balance::handle,
        address::cat_balance::handle,
        address::nft_balance::handle,
        address::nft_transaction::handle,
        address::token_balance::handle,
        address::token_transaction::handle,
        address::transactions::handle,
        address::xch_balance::handle,
        address::xch_transaction::handle,
    )
)]
struct Interface;

/// `GET /openapi.json`
pub(crate) async fn document() -> Result<Response, ApiError> {
    let json = Interface::openapi().to_json().map_err(|error| {
        tracing::error!(%error, "the description cannot be written");
        ApiError::internal()
    })?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], json).into_response())
}

/// `GET /docs`
pub(crate) async fn docs() -> Response {
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'";
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
    ];
    (headers, include_str!("docs.html")).into_response()
}
