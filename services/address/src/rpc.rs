//! The gRPC face of addresses: validate, read from one view, convert.

mod convert;
mod get_balances;
mod get_digest;
mod list_coins;
mod list_nfts;
mod list_transfers;
mod stream_positions;
mod views;

use crate::store::{AddressStore, ViewError};
use futures::stream::BoxStream;
use mojoscan_domain::{Bytes32, PuzzleHash};
use mojoscan_pipeline::runner::ProgressMap;
use mojoscan_proto::address::v1 as proto;
use mojoscan_proto::address::v1::address_service_server::AddressService;
use mojoscan_runtime::Code;
use std::time::Duration;
use tokio::sync::watch;
use tonic::{Request, Response, Status};
use tracing::{debug, error, warn};
use views::Views;

/// Most owners in one call.
const OWNERS_MAX: usize = 10;
/// Most items of a page.
const PAGE_MAX: u32 = 1_000;
/// Most NFTs of an owner in one answer.
const NFTS_MAX: u32 = 10_000;

/// How often is read until no reorg passes meanwhile.
const ATTEMPTS: u32 = 6;
/// Time between two such attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// The gRPC face of addresses.
pub struct AddressRpc<S> {
    store: S,
    progress: watch::Receiver<ProgressMap>,
}

impl<S: AddressStore> AddressRpc<S> {
    /// Serves what is in a store; `progress` says how far its shards are.
    pub const fn new(store: S, progress: watch::Receiver<ProgressMap>) -> Self {
        Self { store, progress }
    }

    /// Reads rows of these owners, all at one block. Tried again while a reorg passes through the shards.
    async fn read<T, F>(
        &self,
        owners: &[PuzzleHash],
        at: Option<&proto::At>,
        query: impl Fn(Views<S>) -> F,
    ) -> Result<(proto::AsOf, T), Status>
    where
        F: Future<Output = Result<(Views<S>, T), ViewError>>,
    {
        let height = at.map(|at| at.height);
        for attempt in 1..=ATTEMPTS {
            let read = async {
                let views = Views::open(self.store.clone(), owners, height).await?;
                let as_of = views.as_of();
                let (views, answer) = query(views).await?;
                views.finish().await?;
                Ok((as_of, answer))
            };
            match read.await {
                Err(ViewError::Moved) if attempt < ATTEMPTS => {
                    debug!("a reorg passes during a read; reading again");
                    tokio::time::sleep(PAUSE).await;
                }
                answer => return answer.map_err(|error| failed(&error)),
            }
        }
        Err(failed(&ViewError::Moved))
    }
}

#[tonic::async_trait]
impl<S: AddressStore> AddressService for AddressRpc<S> {
    type StreamPositionsStream = BoxStream<'static, Result<proto::StreamPositionsResponse, Status>>;

    async fn get_balances(
        &self,
        request: Request<proto::GetBalancesRequest>,
    ) -> Result<Response<proto::GetBalancesResponse>, Status> {
        self.balances(request.into_inner()).await.map(Response::new)
    }

    async fn list_nfts(
        &self,
        request: Request<proto::ListNftsRequest>,
    ) -> Result<Response<proto::ListNftsResponse>, Status> {
        self.nfts(request.into_inner()).await.map(Response::new)
    }

    async fn list_transfers(
        &self,
        request: Request<proto::ListTransfersRequest>,
    ) -> Result<Response<proto::ListTransfersResponse>, Status> {
        self.transfers(request.into_inner()).await.map(Response::new)
    }

    async fn list_coins(
        &self,
        request: Request<proto::ListCoinsRequest>,
    ) -> Result<Response<proto::ListCoinsResponse>, Status> {
        self.coins(request.into_inner()).await.map(Response::new)
    }

    async fn stream_positions(
        &self,
        _request: Request<proto::StreamPositionsRequest>,
    ) -> Result<Response<Self::StreamPositionsStream>, Status> {
        Ok(Response::new(self.positions()))
    }

    async fn get_digest(
        &self,
        request: Request<proto::GetDigestRequest>,
    ) -> Result<Response<proto::GetDigestResponse>, Status> {
        self.digest(request.into_inner()).await.map(Response::new)
    }
}

/// What the caller is told of a failure; the rest goes to the log.
fn failed(error: &ViewError) -> Status {
    match error {
        ViewError::TooHigh { .. } => Code::OutOfRange.status(error.to_string()),
        ViewError::Moved => Code::Unavailable.status(error.to_string()),
        ViewError::Store(mojoscan_pipeline::StoreError::Unavailable(_)) => {
            warn!(%error, "read failed");
            Code::Unavailable.status("the store does not answer")
        }
        ViewError::Store(_) => {
            error!(%error, "read failed");
            Code::Internal.status("the store failed")
        }
    }
}

fn owner(bytes: &[u8]) -> Result<PuzzleHash, Status> {
    Bytes32::try_from(bytes).map_err(|error| Code::InvalidArgument.status(format!("owner: {error}")))
}

fn owners(all: &[Vec<u8>]) -> Result<Vec<PuzzleHash>, Status> {
    if all.is_empty() || all.len() > OWNERS_MAX {
        return Err(Code::InvalidArgument.status(format!("owners: 1 to {OWNERS_MAX}, not {}", all.len())));
    }
    all.iter().map(|bytes| owner(bytes)).collect()
}

fn count(count: u32, max: u32) -> Result<usize, Status> {
    if (1..=max).contains(&count) {
        return Ok(count as usize);
    }
    Err(Code::InvalidArgument.status(format!("count: 1 to {max}, not {count}")))
}

/// Where to begin: numbers below this one.
const fn before(number: u64) -> u64 {
    if number == 0 { u64::MAX } else { number }
}
