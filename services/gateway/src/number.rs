//! Numbers in answers: exact, and never through a float.

use mojoscan_domain::amount::Decimal;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};

/// An exact decimal, written as a JSON number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exact(pub(crate) Decimal);

impl Serialize for Exact {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // digits with at most one point between them are a JSON number
        RawValue::from_string(self.0.to_string()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl utoipa::PartialSchema for Exact {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Number)
            .description(Some("exact decimal, trailing zeros trimmed"))
            .build()
            .into()
    }
}

impl utoipa::ToSchema for Exact {}

/// A sum in mojos: an exact JSON integer, which may exceed 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Mojos(pub(crate) u128);

impl utoipa::PartialSchema for Mojos {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .description(Some("exact amount in mojos; may exceed 64 bits"))
            .build()
            .into()
    }
}

impl utoipa::ToSchema for Mojos {}
