//! Serves HTTP/1.1 and HTTP/2, within limits, and stops without cutting anybody off.

use crate::refusal::Enveloped;
use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// Longest time for a client to send its request's head, also between requests of a connection.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);
/// Most headers of a request.
pub(crate) const HEADERS_MAX: usize = 64;
/// Most bytes of a request's head.
pub(crate) const HEAD_BYTES_MAX: usize = 80 * 1024;
/// Most requests at a time on one HTTP/2 connection.
const STREAMS_MAX: u32 = 100;
/// Longest time for connections to end once the process is told to stop.
const DRAIN: Duration = Duration::from_secs(20);
/// Pause after the system refused a connection, as when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until it is told to stop; then takes no new connections, and lets requests that have begun come to an end.
///
/// # Errors
/// If the listener fails.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    connections_max: u32,
    stop: CancellationToken,
) -> io::Result<()> {
    let graceful = GracefulShutdown::new();
    let server = server();
    let places = Arc::new(Semaphore::new(connections_max as usize));
    while let Some(accepted) = stop.run_until_cancelled(accept(&listener, &places)).await {
        let (stream, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        let connection = server.serve_connection(TokioIo::new(Enveloped::new(stream)), service).into_owned();
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                debug!(%error, "connection ended");
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        warn!("some connections did not end in time");
    }
    Ok(())
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, place))
}

fn server() -> auto::Builder<TokioExecutor> {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX);
    server
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX as u32)
        .keep_alive_interval(HEAD_TIME_MAX);
    server
}
