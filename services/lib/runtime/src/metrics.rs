//! The meters of the process: read from the admin port, and sent to an OTLP endpoint when one is set.

use opentelemetry_otlp::{MetricExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use std::error::Error;

/// Starts the meters.
pub(crate) fn start(
    endpoint: Option<&str>,
    resource: Resource,
) -> Result<(SdkMeterProvider, prometheus::Registry), Box<dyn Error>> {
    let registry = prometheus::Registry::new();
    let reader = opentelemetry_prometheus::exporter().with_registry(registry.clone()).build()?;
    let mut builder = SdkMeterProvider::builder().with_resource(resource).with_reader(reader);
    if let Some(endpoint) = endpoint {
        let exporter = MetricExporter::builder().with_tonic().with_endpoint(endpoint).build()?;
        builder = builder.with_periodic_exporter(exporter);
    }
    Ok((builder.build(), registry))
}
