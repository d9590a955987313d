//! What stands in the headers of a record: the attributes of CloudEvents 1.0 (binary mode), and the trace.

use mojoscan_domain::Network;
use opentelemetry::global;
use opentelemetry::propagation::Extractor;
use rdkafka::message::{BorrowedHeaders, Header, Headers, OwnedHeaders};
use std::collections::HashMap;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// What the headers of a batch's records have in common.
pub(super) struct Envelope {
    source: String,
    /// The trace that the batch belongs to, if there is one: `traceparent` and its like.
    trace: HashMap<String, String>,
}

impl Envelope {
    /// For what is published in the current span.
    pub(super) fn new(network: Network) -> Self {
        let mut trace = HashMap::new();
        let context = Span::current().context();
        global::get_text_map_propagator(|propagator| propagator.inject_context(&context, &mut trace));
        Self { source: format!("/mojoscan/{network}"), trace }
    }

    /// The headers of one record. `id` is unique in the log; a record that is published again after a failure has the
    /// same.
    pub(super) fn headers(&self, kind: &str, id: &str) -> OwnedHeaders {
        let fixed = [
            ("ce_specversion", "1.0"),
            ("ce_type", kind),
            ("ce_source", &self.source),
            ("ce_id", id),
            ("content-type", "application/protobuf"),
        ];
        let trace = self.trace.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        fixed
            .into_iter()
            .chain(trace)
            .fold(OwnedHeaders::new_with_capacity(fixed.len() + self.trace.len()), |headers, (key, value)| {
                headers.insert(Header { key, value: Some(value) })
            })
    }
}

/// Makes a span the child of the trace that a record belongs to.
pub(super) fn extract(span: &Span, headers: &BorrowedHeaders) {
    let parent = global::get_text_map_propagator(|propagator| propagator.extract(&Carrier(headers)));
    // a subscriber without traces has no use for it
    drop(span.set_parent(parent));
}

struct Carrier<'a>(&'a BorrowedHeaders);

impl Extractor for Carrier<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let header = self.0.iter().find(|header| header.key == key)?;
        std::str::from_utf8(header.value?).ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.iter().map(|header| header.key).collect()
    }
}
