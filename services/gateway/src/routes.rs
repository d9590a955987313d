//! Every path.

use crate::address::{
    balance, cat_balance, nft_balance, nft_transaction, token_balance, token_transaction, transactions,
    xch_balance, xch_transaction,
};
use crate::config::GatewayConfig;
use crate::edge::{self, Edge};
use crate::error::ApiError;
use crate::gateway::Gateway;
use crate::openapi;
use axum::Router;
use axum::middleware;
use axum::routing::get;

/// The whole public interface.
pub fn router(gateway: Gateway, config: &GatewayConfig) -> Router {
    let edge = Edge::new(config.requests_max);
    Router::new()
        .route("/address/balance/{address}", get(balance::handle))
        .route("/address/cat-balance/{address}", get(cat_balance::handle))
        .route("/address/nft-balance/{address}", get(nft_balance::handle))
        .route("/address/nft-transaction/{address}", get(nft_transaction::handle))
        .route("/address/token-balance/{address}", get(token_balance::handle))
        .route("/address/token-transaction/{address}", get(token_transaction::handle))
        .route("/address/transactions/{address}", get(transactions::handle))
        .route("/address/xch-balance/{address}", get(xch_balance::handle))
        .route("/address/xch-transaction/{address}", get(xch_transaction::handle))
        .route("/docs", get(openapi::docs))
        .route("/openapi.json", get(openapi::document))
        .fallback(|| async { ApiError::not_found() })
        .method_not_allowed_fallback(|| async { ApiError::method_not_allowed() })
        .with_state(gateway)
        .layer(middleware::from_fn_with_state(edge.clone(), edge::limit))
        .layer(edge::cors())
        .layer(middleware::from_fn_with_state(edge, edge::wrap))
}
