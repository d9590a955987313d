//! gRPC between parts of one process: the same services and clients as in a fleet, over memory instead of a socket.

use hyper_util::rt::TokioIo;
use mojoscan_proto::address::v1::address_service_server::{AddressService, AddressServiceServer};
use mojoscan_runtime::exit::Failure;
use mojoscan_runtime::tasks::Tasks;
use std::io;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint, Server, Uri};

/// Bytes that may wait in a connection.
const BUFFER: usize = 256 * 1024;

/// Serves an address service, and gives a channel to it.
pub(crate) fn connect<S: AddressService>(
    service: AddressServiceServer<S>,
    tasks: &mut Tasks,
) -> Result<Channel, Failure> {
    let (accept, accepted) = mpsc::channel::<DuplexStream>(16);
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(mojoscan_proto::DESCRIPTORS)
        .build_v1()
        .map_err(Failure::failed)?;
    let stop = tasks.stop();
    tasks.spawn("address rpc", async move {
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<AddressServiceServer<S>>().await;
        Server::builder()
            .add_service(service)
            .add_service(health_service)
            .add_service(reflection)
            .serve_with_incoming_shutdown(
                ReceiverStream::new(accepted).map(Ok::<_, io::Error>),
                stop.cancelled_owned(),
            )
            .await
            .map_err(Failure::failed)
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
