//! The description of the interface: for programs as OpenAPI 3.1, for people as a page that needs no other host.

use crate::address;
use crate::answer::{AS_OF_AGE, AS_OF_HASH, AS_OF_HEIGHT, TIP_HEIGHT};
use crate::edge::REQUEST_ID;
use crate::error::{ApiError, ErrorCode, Failure};
use axum::Json;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

/// The interface.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Mojoscan",
        description = "Exact, reorg-proof data of the Chia blockchain. Every answer is true and complete at the block \
                       that its headers x-as-of-height and x-as-of-hash name. Failures have status, code, message and \
                       request_id. Cursors are sequence numbers: a page has the rows below its cursor, newest first, \
                       so pages never shift while blocks arrive."
    ),
    paths(
        address::balance::handle,
        address::cat_balance::handle,
        address::nft_balance::handle,
        address::nft_transaction::handle,
        address::token_balance::handle,
        address::token_transaction::handle,
        address::transactions::handle,
        address::xch_balance::handle,
        address::xch_transaction::handle,
    ),
    components(schemas(Failure, ErrorCode))
)]
struct Interface;

/// Keys that are not always present, by the schema that has them. Every other key is, if only as null.
const OPTIONAL: [(&str, &[&str]); 2] = [
    ("Other", &["to", "from"]),
    (
        "XchTransactions",
        &[
            "send_transactions",
            "received_transactions",
            "send_dust_transactions",
            "received_dust_transactions",
        ],
    ),
];

/// Headers of every answer with data.
const HEADERS: [(HeaderName, &str, &str); 6] = [
    (AS_OF_HEIGHT, "integer", "height of the block at which everything in the answer is true and complete"),
    (AS_OF_HASH, "string", "that block's header hash"),
    (TIP_HEIGHT, "integer", "height of the node's peak"),
    (AS_OF_AGE, "integer", "whole seconds since the chain was last heard from"),
    (REQUEST_ID, "string", "the request's id: the one it came with, or a new one"),
    (header::ETAG, "string", "to be sent as If-None-Match"),
];

/// Failures that every path can have.
const FAILURES: [(&str, &str); 4] = [
    ("400", "malformed input; the message names the parameter and what is allowed"),
    ("405", "not served with this method"),
    ("500", "our fault"),
    ("503", "overloaded, a service down, or data too old; see Retry-After"),
];

/// The description: what the handlers say of themselves, and what is the same for all of them.
fn description() -> Result<Value, serde_json::Error> {
    let mut description = serde_json::to_value(Interface::openapi())?;
    let paths = description["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in paths.filter_map(|path| path.get_mut("get")) {
        if let Some(parameters) = operation["parameters"].as_array_mut() {
            parameters.extend([
                parameter("network", "the network served, by any of its names; another is refused"),
                parameter("Version", "1, the only version there is"),
            ]);
        }
        let headers = HEADERS.map(|(name, kind, what)| {
            (name.to_string(), json!({ "description": what, "schema": { "type": kind } }))
        });
        let headers = Map::from_iter(headers);
        operation["responses"]["304"] =
            json!({ "description": "what If-None-Match names still holds", "headers": headers.clone() });
        operation["responses"]["200"]["headers"] = Value::Object(headers);
        for (status, what) in FAILURES {
            let content =
                json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Failure" } } });
            operation["responses"][status] = json!({ "description": what, "content": content });
        }
    }
    let schemas = description["components"]["schemas"].as_object_mut();
    for (name, schema) in schemas.into_iter().flatten() {
        let optional = OPTIONAL.iter().find(|(of, _)| of == name).map_or(&[][..], |(_, keys)| keys);
        require(schema, optional);
    }
    Ok(description)
}

fn parameter(name: &str, what: &str) -> Value {
    json!({ "name": name, "in": "query", "description": what, "required": false, "schema": { "type": "string" } })
}

/// Says of every key but these that it is always present.
fn require(schema: &mut Value, optional: &[&str]) {
    match schema {
        Value::Object(object) => {
            if let Some(properties) = object.get("properties").and_then(Value::as_object) {
                let keys = properties.keys().filter(|key| !optional.contains(&key.as_str()));
                let required: Vec<Value> = keys.map(|key| Value::String(key.clone())).collect();
                object.insert("required".to_owned(), Value::Array(required));
            }
            object.values_mut().for_each(|value| require(value, optional));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| require(item, optional)),
        _ => {}
    }
}

/// `GET /openapi.json`
pub(crate) async fn document() -> Result<Response, ApiError> {
    let json = description().map_err(|error| {
        tracing::error!(%error, "the description cannot be written");
        ApiError::internal()
    })?;
    Ok(Json(json).into_response())
}

/// `GET /docs`
pub(crate) async fn docs() -> Response {
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'";
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
    ];
    (headers, include_str!("docs.html")).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every reference in a description.
    fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("$ref").and_then(Value::as_str));
                object.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn operations_have_names_of_their_own_and_references_lead_somewhere() {
        let description = description().unwrap();
        let paths = description["paths"].as_object().unwrap();
        let ids: BTreeSet<_> =
            paths.values().map(|path| path["get"]["operationId"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), paths.len());
        let mut found = BTreeSet::new();
        references(&description, &mut found);
        assert!(found.contains("#/components/schemas/ErrorCode"), "{found:?}");
        for reference in found {
            assert!(description.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
    }

    #[test]
    fn what_is_always_there_is_required() {
        let description = description().unwrap();
        let required = |schema: &str| description["components"]["schemas"][schema]["required"].clone();
        assert_eq!(required("Token"), json!(["asset_id", "balance", "name", "symbol", "token_id"]));
        assert_eq!(required("Other"), json!(["memo"]));
        assert_eq!(required("XchTransactions"), json!(["status"]));
        let codes = &description["components"]["schemas"]["ErrorCode"]["enum"];
        assert!(codes.as_array().unwrap().contains(&json!("unsupported_parameter")), "{codes}");
    }
}
