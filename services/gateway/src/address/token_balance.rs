//! `GET /address/token-balance/{address}`

use super::Asked;
use super::shapes::{SUCCESS, Token};
use crate::cache::Key;
use crate::error::ApiError;
use crate::gateway::Gateway;
use crate::number::Exact;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

/// The token balances of an address, by asset id. Zero balances are left out.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenBalance {
    /// `success`.
    status: &'static str,
    balance: Vec<PricedToken>,
    /// The same as `balance`: published clients read either.
    data: Vec<PricedToken>,
}

/// A token balance, with what it is worth.
#[derive(Clone, Serialize, ToSchema)]
pub(crate) struct PricedToken {
    #[serde(flatten)]
    token: Token,
    /// Null if unknown.
    preview_url: Option<String>,
    /// Of one token in USD; null if unknown.
    price: Option<Exact>,
    /// Of one token in XCH; null if unknown.
    price_xch: Option<Exact>,
    /// Of the balance in USD; null if unknown.
    total_value: Option<Exact>,
}

/// Token (CAT) balances.
#[utoipa::path(get, operation_id = "token_balance", path = "/address/token-balance/{address}", tag = "address",
    params(("address" = String, Path, description = "an address of the network served")),
    responses((status = 200, body = TokenBalance)))]
pub(crate) async fn handle(State(gateway): State<Gateway>, asked: Asked) -> Result<Response, ApiError> {
    asked.query(&gateway)?;
    let owners = vec![asked.owner(&gateway)?];
    let key = Key { route: "token-balance", owners: owners.clone(), parameters: vec![] };
    let compose = || async {
        let (as_of, found) = gateway.addresses().balances(&owners, true).await?;
        let cats = found.iter().flat_map(|balances| &balances.cats);
        let balance: Vec<PricedToken> = cats
            .map(|(asset, balance)| PricedToken {
                token: Token::new(*asset, *balance),
                preview_url: None,
                price: None,
                price_xch: None,
                total_value: None,
            })
            .collect();
        Ok((as_of, TokenBalance { status: SUCCESS, data: balance.clone(), balance }))
    };
    Ok(gateway.answer(key, compose).await?.respond(&asked.headers))
}
