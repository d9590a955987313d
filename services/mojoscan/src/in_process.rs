//! gRPC between parts of one process: the same services and clients as in a fleet, over memory instead of a socket.

use crate::rpc;
use hyper_util::rt::TokioIo;
use mojoscan_proto::address::v1::address_service_server::{AddressService, AddressServiceServer};
use mojoscan_runtime::exit::Failure;
use mojoscan_runtime::health::Health;
use mojoscan_runtime::tasks::Tasks;
use std::io;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint, Uri};

/// Bytes that may wait in a connection.
const BUFFER: usize = 256 * 1024;

/// Serves an address service until `end` is cancelled, which is when nobody asks any more. Gives a channel to it.
pub(crate) async fn connect<S: AddressService>(
    service: AddressServiceServer<S>,
    health: &Health,
    tasks: &mut Tasks,
    end: CancellationToken,
) -> Result<Channel, Failure> {
    let (accept, accepted) = mpsc::channel::<DuplexStream>(16);
    let server = rpc::server(service, health.clone(), tasks.stop())?;
    let incoming = ReceiverStream::new(accepted).map(Ok::<_, io::Error>);
    tasks.spawn("address rpc", async move {
        server.serve_with_incoming_shutdown(incoming, end.cancelled_owned()).await.map_err(Failure::failed)
    });
    let dial = tower::service_fn(move |_: Uri| {
        let accept = accept.clone();
        async move {
            let (ours, theirs) = tokio::io::duplex(BUFFER);
            accept.send(theirs).await.map_err(io::Error::other)?;
            Ok::<_, io::Error>(TokioIo::new(ours))
        }
    });
    // the name is never looked up
    Ok(Endpoint::from_static("http://address").connect_with_connector_lazy(dial))
}
