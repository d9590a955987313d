//! The paths below `/address`.

pub(crate) mod balance;
pub(crate) mod cat_balance;
pub(crate) mod nft_balance;
pub(crate) mod nft_transaction;
pub(crate) mod token_balance;
pub(crate) mod token_transaction;
pub(crate) mod transactions;
pub(crate) mod xch_balance;
pub(crate) mod xch_transaction;

mod pages;
mod shapes;

use crate::error::{ApiError, ErrorCode};
use crate::gateway::Gateway;
use crate::query::{self, Query};
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use mojoscan_domain::PuzzleHash;

/// What every request below `/address` brings: an address in its path, a query, and headers.
pub(crate) struct Asked {
    /// The path's last segment, decoded.
    address: String,
    uri: Uri,
    pub(crate) headers: HeaderMap,
}

impl FromRequestParts<Gateway> for Asked {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, gateway: &Gateway) -> Result<Self, ApiError> {
        let Path(address) = Path::<String>::from_request_parts(parts, gateway).await.map_err(|_| {
            ApiError::bad_request(
                ErrorCode::InvalidAddress,
                "address: it is not valid UTF-8; expected an address",
            )
        })?;
        Ok(Self { address, uri: parts.uri.clone(), headers: parts.headers.clone() })
    }
}

impl Asked {
    /// The query, with the checks that every path has.
    pub(crate) fn query(&self, gateway: &Gateway) -> Result<Query<'_>, ApiError> {
        Query::read(self.uri.query(), gateway.network())
    }

    /// The address.
    pub(crate) fn owner(&self, gateway: &Gateway) -> Result<PuzzleHash, ApiError> {
        query::address(gateway.network(), &self.address)
    }

    /// The addresses, where several may be given.
    pub(crate) fn owners(&self, gateway: &Gateway) -> Result<Vec<PuzzleHash>, ApiError> {
        query::addresses(gateway.network(), &self.address)
    }
}
