//! The admin port: `/livez`, `/readyz`, `/metrics`.

use crate::health::Health;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus::{Encoder, TextEncoder};
use std::io;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[derive(Clone)]
struct Admin {
    health: Health,
    registry: prometheus::Registry,
    stop: CancellationToken,
}

/// Serves the admin port until it is told to stop for good; from `stopping` on the process is not ready.
///
/// # Errors
/// If the listener fails.
pub async fn serve(
    listener: TcpListener,
    health: Health,
    registry: prometheus::Registry,
    stopping: CancellationToken,
    end: CancellationToken,
) -> io::Result<()> {
    let router = Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(Admin { health, registry, stop: stopping });
    axum::serve(listener, router).with_graceful_shutdown(end.cancelled_owned()).await
}

async fn readyz(State(admin): State<Admin>) -> Response {
    let (ready, body) = admin.health.check();
    let ready = ready && !admin.stop.is_cancelled();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, axum::Json(body)).into_response()
}

async fn metrics(State(admin): State<Admin>) -> Response {
    let mut text = vec![];
    match TextEncoder::new().encode(&admin.registry.gather(), &mut text) {
        Ok(()) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
