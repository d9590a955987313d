//! `GET /address/cat-balance/{address}`

use super::Asked;
use super::shapes::{SUCCESS, Token};
use crate::cache::Key;
use crate::error::ApiError;
use crate::gateway::Gateway;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

/// The CAT balances of an address, by asset id. Zero balances are left out.
#[derive(Serialize, ToSchema)]
pub(crate) struct CatBalance {
    /// `success`.
    status: &'static str,
    balance: Vec<Token>,
}

/// CAT balances.
#[utoipa::path(get, operation_id = "cat_balance", path = "/address/cat-balance/{address}", tag = "address",
    params(("address" = String, Path, description = "an address of the network served")),
    responses((status = 200, body = CatBalance)))]
pub(crate) async fn handle(State(gateway): State<Gateway>, asked: Asked) -> Result<Response, ApiError> {
    asked.query(&gateway)?;
    let owners = vec![asked.owner(&gateway)?];
    let key = Key { route: "cat-balance", owners: owners.clone(), parameters: vec![] };
    let compose = || async {
        let (as_of, found) = gateway.addresses().balances(&owners, true).await?;
        let cats = found.iter().flat_map(|balances| &balances.cats);
        let balance = cats.map(|(asset, balance)| Token::new(*asset, *balance)).collect();
        Ok((as_of, CatBalance { status: SUCCESS, balance }))
    };
    Ok(gateway.answer(key, compose).await?.respond(&asked.headers))
}
