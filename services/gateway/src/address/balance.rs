//! `GET /address/balance/{address}`

use super::Asked;
use super::shapes::{Nft, SUCCESS, Token, Xch};
use crate::cache::Key;
use crate::clients::address::{Balances, Nfts};
use crate::error::{ApiError, ErrorCode};
use crate::gateway::Gateway;
use crate::number::{Exact, Mojos};
use axum::extract::State;
use axum::response::Response;
use mojoscan_domain::{Bytes32, LauncherId, PuzzleHash, amount};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// NFTs shown of an address.
const NFTS_SHOWN: u32 = 100;

/// The combined balance of one address or several. The sums are over all of them.
#[derive(Serialize, ToSchema)]
pub(crate) struct CombinedBalance {
    /// `success`.
    status: &'static str,
    #[serde(flatten)]
    sum: Balance,
    /// The same for each address by itself.
    addresses: Vec<AddressBalance>,
}

/// The combined balance of one address.
#[derive(Serialize, ToSchema)]
pub(crate) struct AddressBalance {
    /// The address.
    address: String,
    #[serde(flatten)]
    balance: Balance,
}

/// Balances in every shape that clients know.
#[derive(Serialize, ToSchema)]
pub(crate) struct Balance {
    xch_balance: Xch,
    cat_balance: Vec<Token>,
    nft_balance: NftCount,
    balance: Valued,
    data: Flows,
}

/// How many NFTs, and the latest of them.
#[derive(Serialize, ToSchema)]
pub(crate) struct NftCount {
    /// All of them.
    count: u64,
    /// The latest acquired, at most 100.
    nfts: Vec<Nft>,
}

/// An amount of XCH, and what it is worth.
#[derive(Clone, Copy, Serialize, ToSchema)]
pub(crate) struct Valued {
    /// In mojos.
    mojo: Mojos,
    /// In XCH.
    xch: Exact,
    /// In USD; null if no price is known.
    usd: Option<Exact>,
}

/// What is there, what came in and what went out.
#[derive(Serialize, ToSchema)]
pub(crate) struct Flows {
    balance: Valued,
    /// Everything in the list of received XCH, dust left out.
    received: Valued,
    /// Everything in the list of sent XCH, dust left out.
    sent: Valued,
}

/// Combined balance.
///
/// XCH without dust, CATs and NFTs of one address, or the sums over up to ten, separated by commas. An address given
/// twice counts once.
#[utoipa::path(get, operation_id = "balance", path = "/address/balance/{address}", tag = "address",
    params(("address" = String, Path, description = "1 to 10 addresses of the network served, separated by commas")),
    responses((status = 200, body = CombinedBalance)))]
pub(crate) async fn handle(State(gateway): State<Gateway>, asked: Asked) -> Result<Response, ApiError> {
    asked.query(&gateway)?;
    let owners = asked.owners(&gateway)?;
    let key = Key { route: "balance", owners: owners.clone(), parameters: vec![] };
    let compose = || async {
        // both calls must be true at the same block; a block that comes between them is no reason to fail
        for _ in 0..ATTEMPTS {
            let (as_of, balances) = gateway.addresses().balances(&owners, true).await?;
            let (nfts_as_of, nfts) = gateway.addresses().nfts(&owners, NFTS_SHOWN).await?;
            if (as_of.epoch, as_of.block) == (nfts_as_of.epoch, nfts_as_of.block) {
                return Ok((as_of, combined(&gateway, &owners, &balances, &nfts)));
            }
        }
        Err(ApiError::unavailable(
            ErrorCode::Moving,
            "blocks came between the parts of the answer; try again",
        ))
    };
    Ok(gateway.answer(key, compose).await?.respond(&asked.headers))
}

/// How often the two calls are repeated until both are at the same block.
const ATTEMPTS: usize = 5;

fn combined(
    gateway: &Gateway,
    owners: &[PuzzleHash],
    balances: &[Balances],
    nfts: &[Nfts],
) -> CombinedBalance {
    let each = owners.iter().zip(balances).zip(nfts).map(|((owner, balances), nfts)| AddressBalance {
        address: gateway.address_of(*owner),
        balance: balance(std::slice::from_ref(balances), std::slice::from_ref(nfts)),
    });
    CombinedBalance { status: SUCCESS, sum: balance(balances, nfts), addresses: each.collect() }
}

fn balance(balances: &[Balances], nfts: &[Nfts]) -> Balance {
    let sum = |part: fn(&Balances) -> u128| balances.iter().map(part).sum::<u128>();
    let xch = sum(|b| b.xch.saturating_sub(b.dust));
    let mut cats: BTreeMap<Bytes32, u128> = BTreeMap::new();
    for (asset, balance) in balances.iter().flat_map(|balances| &balances.cats) {
        *cats.entry(*asset).or_default() += balance;
    }
    let mut held: Vec<(LauncherId, u32)> = nfts.iter().flat_map(|nfts| nfts.held.iter().copied()).collect();
    // each owner's are in order already; across owners the height decides
    held.sort_by_key(|(_, height)| std::cmp::Reverse(*height));
    held.truncate(NFTS_SHOWN as usize);
    Balance {
        xch_balance: Xch::new(xch),
        cat_balance: cats.into_iter().map(|(asset, balance)| Token::new(asset, balance)).collect(),
        nft_balance: NftCount {
            count: nfts.iter().map(|nfts| nfts.total).sum(),
            nfts: held.into_iter().map(|(nft, _)| Nft::new(nft)).collect(),
        },
        balance: valued(xch),
        data: Flows {
            balance: valued(xch),
            received: valued(sum(|b| b.received)),
            sent: valued(sum(|b| b.sent)),
        },
    }
}

fn valued(mojos: u128) -> Valued {
    Valued { mojo: Mojos(mojos), xch: Exact(amount::xch(mojos)), usd: None }
}
