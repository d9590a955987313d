//! A collector of traces.

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::resource::v1::Resource;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// Spans by the id of their trace, in hex: the service and the span's name.
pub type Spans = BTreeMap<String, Vec<(String, String)>>;

/// An OTLP endpoint that keeps what it is sent, as long as its runtime lives.
pub struct Collector {
    /// Where it listens.
    pub url: String,
    spans: Arc<Mutex<Spans>>,
}

impl Collector {
    /// Starts it.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let spans = Arc::<Mutex<Spans>>::default();
        let service = TraceServiceServer::new(Keeper(Arc::clone(&spans)));
        tokio::spawn(Server::builder().add_service(service).serve_with_incoming(TcpIncoming::from(listener)));
        Self { url, spans }
    }

    /// What it has been sent.
    pub fn spans(&self) -> Spans {
        self.spans.lock().unwrap().clone()
    }
}

struct Keeper(Arc<Mutex<Spans>>);

#[tonic::async_trait]
impl TraceService for Keeper {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut kept = self.0.lock().unwrap();
        for sent in request.into_inner().resource_spans {
            let service = sent.resource.as_ref().and_then(service_name).unwrap_or_default();
            for span in sent.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                kept.entry(hex::encode(&span.trace_id)).or_default().push((service.clone(), span.name));
            }
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn service_name(resource: &Resource) -> Option<String> {
    let attribute = resource.attributes.iter().find(|attribute| attribute.key == "service.name")?;
    match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(name) => Some(name.clone()),
        _ => None,
    }
}
