//! The address service.

use super::{AsOf, DEADLINE, Heard, amount, bytes32};
use crate::error::ApiError;
use mojoscan_domain::record::{Transaction, TransactionType};
use mojoscan_domain::{Asset, BlockId, Bytes32, CoinId, Kind, LauncherId, PuzzleHash};
use mojoscan_proto::address::v1 as proto;
use mojoscan_proto::address::v1::address_service_client::AddressServiceClient;
use mojoscan_proto::common::v1 as common;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic::{Request, Status};
use tracing::{info, warn};

pub(crate) use proto::List;

/// Most bytes of an answer: 1,000 coins with the longest memos.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Time between attempts to hear the service's positions.
const RETRY: Duration = Duration::from_millis(500);

/// The address service, as the gateway sees it. Cheap to clone.
#[derive(Clone)]
pub struct AddressClient {
    client: watch::Receiver<Client>,
    positions: watch::Receiver<Positions>,
}

type Client = AddressServiceClient<Channel>;

/// Has a client go over to another service.
pub struct Switch(watch::Sender<Channel>);

impl Switch {
    /// Goes over to the service behind a channel, once that is as far as the present one.
    pub fn to(&self, channel: Channel) {
        self.0.send_replace(channel);
    }
}

/// How far the shards of the service are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Positions {
    /// Grows whenever a shard is at another block. What was answered under another generation may no longer be true.
    pub(crate) generation: u64,
    shards: BTreeMap<u32, (u64, Option<BlockId>)>,
    /// What was heard of the chain, by the shard that is furthest behind.
    pub(crate) heard: Option<Heard>,
    /// Why shards have stopped for good.
    pub(crate) stopped: Vec<String>,
}

/// The sums of one owner, in mojos.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Balances {
    pub(crate) xch: u128,
    pub(crate) dust: u128,
    pub(crate) received: u128,
    pub(crate) sent: u128,
    pub(crate) nfts: u64,
    pub(crate) cats: Vec<(Bytes32, u128)>,
}

/// NFTs of one owner, latest acquired first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Nfts {
    pub(crate) total: u64,
    pub(crate) held: Vec<(LauncherId, u32)>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) total: u64,
    pub(crate) transfers: Vec<Transfer>,
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) number: u64,
    pub(crate) coin: CoinId,
    pub(crate) height: u32,
    pub(crate) timestamp: u64,
    pub(crate) amount: u64,
    pub(crate) asset: Option<Bytes32>,
    pub(crate) party: Option<PuzzleHash>,
    pub(crate) memos: Vec<Vec<u8>>,
}

/// The newest coins of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Coins {
    pub(crate) total: u64,
    pub(crate) coins: Vec<CoinEntry>,
    pub(crate) cats: Vec<(Bytes32, u128)>,
}

/// A coin of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CoinEntry {
    pub(crate) id: CoinId,
    pub(crate) parent: CoinId,
    pub(crate) amount: u64,
    pub(crate) asset: Asset,
    pub(crate) sender: Option<PuzzleHash>,
    pub(crate) memo: Option<String>,
    pub(crate) created: (u32, u64),
    pub(crate) created_by: Option<Transaction>,
    pub(crate) spent: Option<((u32, u64), Transaction)>,
}

impl AddressClient {
    /// A client over a channel, which may be lazy. It listens to the service's positions until it is told to stop.
    pub fn new(channel: Channel, stop: CancellationToken) -> Self {
        Self::switched(channel, stop).0
    }

    /// The same, and what has it go over to another service.
    pub fn switched(channel: Channel, stop: CancellationToken) -> (Self, Switch) {
        let (clients, client) = watch::channel(connect(channel.clone()));
        let (sender, positions) = watch::channel(Positions::default());
        let (switch, channels) = watch::channel(channel);
        tokio::spawn(stop.run_until_cancelled_owned(attend(clients, channels, sender)));
        (Self { client, positions }, Switch(switch))
    }

    /// How far the service is, as it last told.
    pub(crate) fn positions(&self) -> Positions {
        self.positions.borrow().clone()
    }

    pub(crate) async fn balances(
        &self,
        owners: &[PuzzleHash],
        cats: bool,
    ) -> Result<(AsOf, Vec<Balances>), ApiError> {
        let request = proto::GetBalancesRequest { owners: owners.iter().map(wire).collect(), at: None, cats };
        let answer =
            self.call(request, |mut client, request| async move { client.get_balances(request).await });
        let answer = answer.await?;
        self.read(answer.as_of, || answer.balances.iter().map(balances).collect())
    }

    pub(crate) async fn nfts(
        &self,
        owners: &[PuzzleHash],
        count: u32,
    ) -> Result<(AsOf, Vec<Nfts>), ApiError> {
        let request = proto::ListNftsRequest { owners: owners.iter().map(wire).collect(), at: None, count };
        let answer = self.call(request, |mut client, request| async move { client.list_nfts(request).await });
        let answer = answer.await?;
        self.read(answer.as_of, || answer.owners.iter().map(nfts).collect())
    }

    pub(crate) async fn transfers(
        &self,
        owner: PuzzleHash,
        pages: &[(List, u64, u32)],
    ) -> Result<(AsOf, Vec<Page>), ApiError> {
        let pages = pages
            .iter()
            .map(|(list, before, count)| proto::PageRequest {
                list: (*list).into(),
                before: *before,
                count: *count,
            })
            .collect();
        let request = proto::ListTransfersRequest { owner: wire(&owner), at: None, pages };
        let answer =
            self.call(request, |mut client, request| async move { client.list_transfers(request).await });
        let answer = answer.await?;
        self.read(answer.as_of, || answer.pages.into_iter().map(page).collect())
    }

    pub(crate) async fn coins(&self, owner: PuzzleHash, count: u32) -> Result<(AsOf, Coins), ApiError> {
        let request = proto::ListCoinsRequest { owner: wire(&owner), at: None, before: 0, count };
        let answer =
            self.call(request, |mut client, request| async move { client.list_coins(request).await });
        let answer = answer.await?;
        self.read(answer.as_of, || {
            Ok(Coins {
                total: answer.total,
                coins: answer.coins.into_iter().map(coin).collect::<Result<_, _>>()?,
                cats: cats(&answer.cats)?,
            })
        })
    }

    async fn call<Q, A, F>(
        &self,
        request: Q,
        method: impl FnOnce(AddressServiceClient<Channel>, Request<Q>) -> F,
    ) -> Result<A, ApiError>
    where
        F: Future<Output = Result<tonic::Response<A>, Status>>,
    {
        let mut request = Request::new(request);
        request.set_timeout(DEADLINE);
        mojoscan_runtime::telemetry::inject(request.metadata_mut());
        let client = self.client.borrow().clone();
        let answer = tokio::time::timeout(DEADLINE, method(client, request)).await;
        let answer = answer.unwrap_or_else(|_| Err(Status::deadline_exceeded("no answer in time")));
        answer.map(tonic::Response::into_inner).map_err(|status| ApiError::from_service("address", &status))
    }

    fn read<T>(
        &self,
        as_of: Option<proto::AsOf>,
        content: impl FnOnce() -> Result<T, Status>,
    ) -> Result<(AsOf, T), ApiError> {
        let as_of = as_of.ok_or_else(|| Status::internal("an answer without its block"));
        let malformed = |status| ApiError::from_service("address", &status);
        let as_of = as_of.map_err(malformed)?;
        let Some(block) = as_of.block else {
            return Err(ApiError::not_ready());
        };
        let block = block_id(&block).map_err(malformed)?;
        let heard = Heard { peak_height: as_of.peak_height, at_ms: as_of.heard_at_ms };
        let as_of = AsOf { shard: as_of.shard, epoch: as_of.epoch, block, heard };
        Ok((as_of, content().map_err(malformed)?))
    }
}

fn connect(channel: Channel) -> Client {
    AddressServiceClient::new(channel).max_decoding_message_size(ANSWER_BYTES_MAX)
}

/// Listens to the present service until there is another.
async fn attend(
    clients: watch::Sender<Client>,
    mut channels: watch::Receiver<Channel>,
    positions: watch::Sender<Positions>,
) {
    loop {
        let present = clients.borrow().clone();
        tokio::select! {
            () = listen(present, &positions) => {}
            next = successor(&mut channels, &positions) => {
                clients.send_replace(next);
                info!("gone over to another address service");
            }
        }
        // what the next one tells may begin anywhere
        positions.send_modify(|positions| positions.generation += 1);
    }
}

/// Listens to a service's positions, again and again.
async fn listen(mut client: Client, sender: &watch::Sender<Positions>) {
    let mut failed = false;
    loop {
        match client.stream_positions(proto::StreamPositionsRequest {}).await {
            Ok(stream) => {
                info!("listening to the address service");
                failed = false;
                let mut stream = stream.into_inner();
                while let Ok(Some(told)) = stream.message().await {
                    sender.send_if_modified(|positions| positions.take(&told));
                }
            }
            Err(status) if !failed => {
                warn!(%status, "the address service does not answer; trying again");
                failed = true;
            }
            Err(_) => {}
        }
        // what it tells next may begin anywhere
        sender.send_modify(|positions| positions.generation += 1);
        tokio::time::sleep(RETRY).await;
    }
}

/// Waits for another service, and until it is as far as the present one: answers never go back.
async fn successor(channels: &mut watch::Receiver<Channel>, positions: &watch::Sender<Positions>) -> Client {
    if channels.changed().await.is_err() {
        return std::future::pending().await;
    }
    loop {
        let next = connect(channels.borrow_and_update().clone());
        tokio::select! {
            () = caught_up(next.clone(), positions) => return next,
            // or until there is yet another; without a switch there is none
            Ok(()) = channels.changed() => {}
        }
    }
}

/// Waits until a service is as far as the present one.
async fn caught_up(mut next: Client, present: &watch::Sender<Positions>) {
    loop {
        if let Ok(stream) = next.stream_positions(proto::StreamPositionsRequest {}).await {
            let (mut stream, mut told) = (stream.into_inner(), Positions::default());
            while let Ok(Some(more)) = stream.message().await {
                told.take(&more);
                if told.reaches(&present.borrow()) {
                    return;
                }
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}

impl Positions {
    /// Blocks between the chain's peak and the shard that is furthest behind.
    pub(crate) fn lag_blocks(&self) -> Option<u32> {
        let lowest = self.shards.values().map(|(_, block)| block.map_or(0, |block| block.height)).min()?;
        Some(self.heard?.peak_height.saturating_sub(lowest))
    }

    /// Whether every shard is as far as another service's.
    fn reaches(&self, other: &Self) -> bool {
        let height = |position: &(u64, Option<BlockId>)| position.1.map(|block| block.height);
        !self.shards.is_empty()
            && other.shards.iter().all(|(shard, there)| {
                self.shards.get(shard).is_some_and(|here| height(here) >= height(there))
            })
    }

    /// Takes what the service told. Whether anything is new.
    fn take(&mut self, told: &proto::StreamPositionsResponse) -> bool {
        let mut shards = BTreeMap::new();
        let mut heard: Option<Heard> = None;
        for as_of in told.positions.iter().filter_map(|position| position.as_of.as_ref()) {
            let block = as_of.block.as_ref().and_then(|block| block_id(block).ok());
            shards.insert(as_of.shard, (as_of.epoch, block));
            let this = Heard { peak_height: as_of.peak_height, at_ms: as_of.heard_at_ms };
            heard = Some(heard.map_or(this, |other| other.earlier(this)));
        }
        let reasons = told.positions.iter().map(|position| &position.stopped);
        let stopped: Vec<_> = reasons.filter(|reason| !reason.is_empty()).cloned().collect();
        let moved = shards != self.shards;
        self.generation += u64::from(moved);
        self.shards = shards;
        let news = moved || heard != self.heard || stopped != self.stopped;
        (self.heard, self.stopped) = (heard, stopped);
        news
    }
}

fn wire(hash: &PuzzleHash) -> Vec<u8> {
    hash.to_bytes().to_vec()
}

fn optional(bytes: &[u8]) -> Result<Option<Bytes32>, Status> {
    if bytes.is_empty() { Ok(None) } else { bytes32(bytes).map(Some) }
}

fn block_id(block: &common::BlockId) -> Result<BlockId, Status> {
    Ok(BlockId { height: block.height, hash: bytes32(&block.hash)? })
}

fn balances(balances: &proto::Balances) -> Result<Balances, Status> {
    Ok(Balances {
        xch: amount(&balances.xch)?,
        dust: amount(&balances.dust)?,
        received: amount(&balances.received)?,
        sent: amount(&balances.sent)?,
        nfts: balances.nfts,
        cats: cats(&balances.cats)?,
    })
}

fn cats(cats: &[proto::CatBalance]) -> Result<Vec<(Bytes32, u128)>, Status> {
    cats.iter().map(|cat| Ok((bytes32(&cat.asset_id)?, amount(&cat.balance)?))).collect()
}

fn nfts(nfts: &proto::HeldNfts) -> Result<Nfts, Status> {
    let held = nfts.nfts.iter().map(|nft| Ok((bytes32(&nft.launcher_id)?, nft.height)));
    Ok(Nfts { total: nfts.total, held: held.collect::<Result<_, Status>>()? })
}

fn page(page: proto::Page) -> Result<Page, Status> {
    let transfers = page.transfers.into_iter().map(|transfer| {
        Ok(Transfer {
            number: transfer.number,
            coin: bytes32(&transfer.coin_id)?,
            height: transfer.height,
            timestamp: transfer.timestamp,
            amount: transfer.amount,
            asset: optional(&transfer.asset_id)?,
            party: optional(&transfer.party)?,
            memos: transfer.memos,
        })
    });
    Ok(Page { total: page.total, transfers: transfers.collect::<Result<_, Status>>()? })
}

fn coin(coin: proto::Coin) -> Result<CoinEntry, Status> {
    let moment = |moment: &proto::Moment| (moment.height, moment.timestamp);
    let missing = || Status::internal("a coin lacks a part");
    let spent = match (&coin.spent, &coin.spent_by) {
        (Some(at), Some(by)) => Some((moment(at), transaction(by)?)),
        (None, None) => None,
        _ => return Err(missing()),
    };
    Ok(CoinEntry {
        id: bytes32(&coin.id)?,
        parent: bytes32(&coin.parent)?,
        amount: coin.amount,
        asset: asset(coin.asset.as_ref().ok_or_else(missing)?)?,
        sender: optional(&coin.sender)?,
        memo: coin.memo,
        created: coin.created.as_ref().map(moment).ok_or_else(missing)?,
        created_by: coin.created_by.as_ref().map(transaction).transpose()?,
        spent,
    })
}

fn asset(asset: &common::Asset) -> Result<Asset, Status> {
    let kind = match asset.kind() {
        common::Kind::Unspecified => return Err(Status::internal("a coin of no kind")),
        common::Kind::Standard => Kind::Standard,
        common::Kind::Cat => Kind::Cat,
        common::Kind::Nft => Kind::Nft,
        common::Kind::Did => Kind::Did,
        common::Kind::Singleton => Kind::Singleton,
        common::Kind::Settlement => Kind::Settlement,
    };
    Ok(Asset { kind, id: optional(&asset.id)? })
}

fn transaction(transaction: &common::Transaction) -> Result<Transaction, Status> {
    let kind = u8::try_from(transaction.r#type).ok().and_then(TransactionType::from_number);
    let kind = kind.ok_or_else(|| Status::internal("a transaction of an unknown type"))?;
    Ok(Transaction { id: bytes32(&transaction.id)?, kind })
}
