//! gRPC servers: each with health and reflection.

use mojoscan_proto::address::v1::address_service_server::{AddressService, AddressServiceServer};
use mojoscan_runtime::exit::Failure;
use mojoscan_runtime::health::Health;
use mojoscan_runtime::telemetry;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tonic::server::NamedService;
use tonic::transport::Server;
use tonic::transport::server::Router;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tracing::info_span;

/// How often the health service looks at how the process is.
const LOOK: Duration = Duration::from_secs(1);

/// A server of addresses. Its calls go on with the callers' traces; its health is that of the process, until it stops.
pub(crate) fn server<S: AddressService>(
    service: AddressServiceServer<S>,
    health: Health,
    stop: CancellationToken,
) -> Result<Router, Failure> {
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(mojoscan_proto::DESCRIPTORS)
        .build_v1()
        .map_err(Failure::failed)?;
    let (reporter, health_service) = tonic_health::server::health_reporter();
    tokio::spawn(report(reporter, AddressServiceServer::<S>::NAME, health, stop));
    let mut server = Server::builder().trace_fn(|request| {
        let span = info_span!("call", method = request.uri().path());
        telemetry::extract(&span, request.headers());
        span
    });
    Ok(server.add_service(service).add_service(health_service).add_service(reflection))
}

/// Says whether the process is ready, for itself and for its service, until it stops.
async fn report(reporter: HealthReporter, service: &'static str, health: Health, stop: CancellationToken) {
    loop {
        let stopping = stop.is_cancelled();
        let ready = !stopping && health.check().0;
        let status = if ready { ServingStatus::Serving } else { ServingStatus::NotServing };
        for name in ["", service] {
            reporter.set_service_status(name, status).await;
        }
        if stopping {
            return;
        }
        // a stop is told at once
        drop(tokio::time::timeout(LOOK, stop.cancelled()).await);
    }
}
