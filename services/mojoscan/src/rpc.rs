//! gRPC servers: each with health and reflection.

use mojoscan_proto::address::v1::address_service_server::{AddressService, AddressServiceServer};
use mojoscan_runtime::exit::Failure;
use tonic::transport::Server;
use tonic::transport::server::Router;

/// A server of addresses.
pub(crate) async fn server<S: AddressService>(service: AddressServiceServer<S>) -> Result<Router, Failure> {
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(mojoscan_proto::DESCRIPTORS)
        .build_v1()
        .map_err(Failure::failed)?;
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<AddressServiceServer<S>>().await;
    Ok(Server::builder().add_service(service).add_service(health_service).add_service(reflection))
}
