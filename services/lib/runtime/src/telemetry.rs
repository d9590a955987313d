//! Logs, traces and metrics.
//!
//! Logs go to standard error: readable on a terminal, JSON in a pod. Traces and metrics go to an OTLP endpoint when one
//! is set; metrics are on the admin port in any case.

use crate::exit::Failure;
use crate::metrics;
use axum::http::HeaderMap;
use opentelemetry::global;
use opentelemetry::propagation::{Extractor, Injector};
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::io::IsTerminal;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// Settings of telemetry.
#[derive(Debug, Clone, clap::Args)]
pub struct TelemetryConfig {
    /// What is logged: a level, or levels by target, as in `info,mojoscan_ingestor=debug`.
    #[arg(
        long,
        env = "MOJOSCAN_LOG",
        default_value = "info,opentelemetry=warn,scylla=error",
        value_name = "FILTER"
    )]
    pub log: String,

    /// How it is logged.
    #[arg(long, env = "MOJOSCAN_LOG_FORMAT", default_value = "auto", value_enum)]
    pub log_format: LogFormat,

    /// Where traces and metrics are sent, as `http://host:4317`: an OTLP endpoint speaking gRPC. Nowhere without.
    #[arg(long, env = "MOJOSCAN_OTLP_ENDPOINT", value_name = "URL")]
    pub otlp_endpoint: Option<String>,
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Readable on a terminal, JSON elsewhere.
    Auto,
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// Telemetry that was set up. Dropping it sends what is still waiting.
#[must_use = "dropping it ends telemetry"]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
    meters: SdkMeterProvider,
    registry: prometheus::Registry,
}

impl Telemetry {
    /// Sets up telemetry for the process. `service` is its name in traces and metrics.
    ///
    /// # Errors
    /// If the filter or the endpoint cannot be read.
    pub fn start(config: &TelemetryConfig, service: &str) -> Result<Self, Failure> {
        let invalid = |what: &str, error: &dyn std::fmt::Display| {
            Failure::new(crate::exit::CONFIG, format!("{what}: {error}"))
        };
        let filter = EnvFilter::try_new(&config.log).map_err(|error| invalid("log", &error))?;
        let json = match config.log_format {
            LogFormat::Json => true,
            LogFormat::Text => false,
            LogFormat::Auto => !std::io::stderr().is_terminal(),
        };
        let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
        let logs =
            if json { logs.json().flatten_event(true).boxed() } else { logs.with_target(false).boxed() };
        let resource = Resource::builder().with_service_name(service.to_owned()).build();
        let traces = config
            .otlp_endpoint
            .as_deref()
            .map(|endpoint| traces(endpoint, resource.clone()))
            .transpose()
            .map_err(|error| invalid("otlp_endpoint", &error))?;
        let spans = traces
            .as_ref()
            .map(|provider| tracing_opentelemetry::layer().with_tracer(provider.tracer("mojoscan")));
        tracing_subscriber::registry()
            .with(filter)
            .with(logs)
            .with(spans)
            .try_init()
            .map_err(|error| invalid("log", &error))?;
        global::set_text_map_propagator(TraceContextPropagator::new());
        let (meters, registry) = metrics::start(config.otlp_endpoint.as_deref(), resource)
            .map_err(|error| invalid("otlp_endpoint", &error))?;
        global::set_meter_provider(meters.clone());
        Ok(Self { traces, meters, registry })
    }

    /// The metrics, for the admin port.
    pub fn registry(&self) -> prometheus::Registry {
        self.registry.clone()
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        // at the end of the process nobody is left to be told of a failure
        drop(self.traces.as_ref().map(SdkTracerProvider::shutdown));
        drop(self.meters.shutdown());
    }
}

/// Makes a span the child of the trace that a request's `traceparent` names.
pub fn extract(span: &tracing::Span, headers: &HeaderMap) {
    let parent = global::get_text_map_propagator(|propagator| propagator.extract(&HeaderExtractor(headers)));
    // a subscriber without traces has no use for it
    drop(span.set_parent(parent));
}

/// Writes the current trace into the metadata of a call, as `traceparent`.
pub fn inject(metadata: &mut MetadataMap) {
    let context = tracing::Span::current().context();
    global::get_text_map_propagator(|propagator| {
        propagator.inject_context(&context, &mut MetadataInjector(metadata));
    });
}

struct HeaderExtractor<'a>(&'a HeaderMap);

impl Extractor for HeaderExtractor<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(axum::http::HeaderName::as_str).collect()
    }
}

struct MetadataInjector<'a>(&'a mut MetadataMap);

impl Injector for MetadataInjector<'_> {
    fn set(&mut self, key: &str, value: String) {
        if let (Ok(key), Ok(value)) = (key.parse::<AsciiMetadataKey>(), AsciiMetadataValue::try_from(value)) {
            self.0.insert(key, value);
        }
    }
}

fn traces(
    endpoint: &str,
    resource: Resource,
) -> Result<SdkTracerProvider, opentelemetry_otlp::ExporterBuildError> {
    let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build()?;
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
}
