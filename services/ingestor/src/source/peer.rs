//! A node over Chia's full-node protocol: needs only its host and port, and no certificate of it.
//!
//! One connection, made when it is first needed and again after it was lost. The node announces its peak by itself
//! and answers requests by their id; this side announces nothing and answers nothing.

mod connection;

use async_trait::async_trait;
use chia_protocol::{
    ChiaProtocolMessage, Message, NewPeak, ProtocolMessageTypes, RequestBlock, RequestBlocks, RespondBlock,
    RespondBlocks,
};
use chia_traits::Streamable;
use connection::Connection;
use mojoscan_domain::{BlockId, Bytes32, Network};
use mojoscan_pipeline::{BlockSource, Peak, SourceError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior};
use tokio_rustls::rustls::ClientConfig;

/// Longest time until a new connection has told its peak.
const FIRST_PEAK: Duration = Duration::from_secs(15);
/// Longest time between a block that the node gives out and the announcement of the peak that it belongs to.
const ANNOUNCED: Duration = Duration::from_secs(5);

/// Time between two requests for runs of blocks to a node elsewhere: it takes 500 a minute.
const PACE_RUNS: Duration = Duration::from_millis(130);
/// Time between two requests for a block to a node elsewhere: it takes 200 a minute.
const PACE_BLOCKS: Duration = Duration::from_millis(330);

/// For how long a node that failed to answer is asked only as often as a stranger may. What looks like this machine may
/// be a port that is forwarded to elsewhere, and who asks too much there is shut out for five minutes.
const WARY: Duration = Duration::from_secs(3_600);

/// A node over the full-node protocol.
pub struct Peer {
    address: String,
    network: Network,
    tls: Arc<ClientConfig>,
    connection: Mutex<Option<Arc<Connection>>>,
    run_pace: Mutex<Interval>,
    block_pace: Mutex<Interval>,
    wary_until: Mutex<Option<Instant>>,
}

impl Peer {
    /// Prepares a connection. It is made when the first answer is needed.
    ///
    /// # Errors
    /// [`SourceError::Broken`] if no client certificate can be made.
    pub fn new(address: String, network: Network) -> Result<Self, SourceError> {
        // nodes accept any certificate signed by the public Chia CA, whose key everybody has
        let certificate = chia_ssl::ChiaCertificate::generate()
            .map_err(|error| SourceError::Broken(format!("cannot make a client certificate: {error}")))?;
        let tls = super::tls::client(certificate.cert_pem.as_bytes(), certificate.key_pem.as_bytes())?;
        Ok(Self {
            address,
            network,
            tls: Arc::new(tls),
            connection: Mutex::new(None),
            run_pace: Mutex::new(pace(PACE_RUNS)),
            block_pace: Mutex::new(pace(PACE_BLOCKS)),
            wary_until: Mutex::new(None),
        })
    }

    /// Keeps to what a node allows others to ask of it; over loopback it allows anything.
    async fn keep_pace(&self, connection: &Connection, pace: &Mutex<Interval>) {
        let wary = self.wary_until.lock().await.is_some_and(|until| Instant::now() < until);
        if wary || !connection.is_loopback() {
            pace.lock().await.tick().await;
        }
    }

    async fn connection(&self) -> Result<Arc<Connection>, SourceError> {
        let mut slot = self.connection.lock().await;
        if let Some(open) = slot.as_ref().filter(|connection| connection.is_open()) {
            return Ok(Arc::clone(open));
        }
        let open = Arc::new(Connection::open(&self.address, self.network, Arc::clone(&self.tls)).await?);
        *slot = Some(Arc::clone(&open));
        Ok(open)
    }

    /// Asks the node. One that fails to answer is connected to anew before the next question.
    async fn ask<T>(&self, pace: &Mutex<Interval>, request: T) -> Result<Message, SourceError>
    where
        T: Streamable + ChiaProtocolMessage,
    {
        let connection = self.connection().await?;
        self.keep_pace(&connection, pace).await;
        let answer = connection.request(request).await;
        if answer.is_err() {
            self.leave(&connection).await;
            *self.wary_until.lock().await = Some(Instant::now() + WARY);
        }
        answer
    }

    /// Has the next question make a new connection: what is told of this one's peak counts no more.
    async fn leave(&self, connection: &Arc<Connection>) {
        self.connection.lock().await.take_if(|open| Arc::ptr_eq(open, connection));
    }

    fn unexpected(&self, what: &str) -> SourceError {
        SourceError::Unavailable(format!("{}: {what}", self.describe()))
    }
}

#[async_trait]
impl BlockSource for Peer {
    fn describe(&self) -> String {
        format!("peer {}", self.address)
    }

    fn network(&self) -> Option<Network> {
        // the handshake names the network, and the node hangs up on another
        Some(self.network)
    }

    async fn peak(&self) -> Result<Peak, SourceError> {
        let connection = self.connection().await?;
        let mut peaks = connection.peaks();
        match tokio::time::timeout(FIRST_PEAK, told(&mut peaks, None)).await {
            Ok(Some(peak)) => Ok(peak),
            Ok(None) => Err(self.unexpected("the connection was lost")),
            Err(_) => {
                // while it syncs a node tells its peak only to who connects
                self.leave(&connection).await;
                Err(self.unexpected("the node has told no peak: it may not have one yet"))
            }
        }
    }

    async fn changed_peak(&self, known: BlockId, patience: Duration) -> Result<Peak, SourceError> {
        let connection = self.connection().await?;
        let mut peaks = connection.peaks();
        match tokio::time::timeout(patience, told(&mut peaks, Some(known))).await {
            Ok(Some(peak)) => Ok(peak),
            Ok(None) => Err(self.unexpected("the connection was lost")),
            Err(_) => {
                // silence may be a quiet chain, a dead connection, or a node that syncs and announces nothing: whether
                // there is a next block tells
                if self.find_id(known.height.saturating_add(1)).await?.is_some() {
                    let announced = told(&mut peaks, Some(known));
                    if let Ok(Some(peak)) = tokio::time::timeout(ANNOUNCED, announced).await {
                        return Ok(peak);
                    }
                    self.leave(&connection).await;
                }
                self.peak().await
            }
        }
    }

    async fn blocks(&self, first: u32, last: u32) -> Result<Vec<Vec<u8>>, SourceError> {
        let answer = self.ask(&self.run_pace, RequestBlocks::new(first, last, true)).await?;
        match answer.msg_type {
            ProtocolMessageTypes::RejectBlocks => Err(SourceError::Missing { first, last }),
            ProtocolMessageTypes::RespondBlocks => {
                let unreadable = |error| self.unexpected(&format!("sent unreadable blocks: {error}"));
                let respond = RespondBlocks::from_bytes_unchecked(&answer.data).map_err(unreadable)?;
                if !respond.blocks.iter().map(|block| block.height()).eq(first..=last) {
                    return Err(self.unexpected("sent other blocks than it was asked for"));
                }
                respond.blocks.iter().map(|block| block.to_bytes().map_err(unreadable)).collect()
            }
            other => Err(self.unexpected(&format!("answered {other:?} to a request for blocks"))),
        }
    }

    async fn find_id(&self, height: u32) -> Result<Option<BlockId>, SourceError> {
        let answer = self.ask(&self.block_pace, RequestBlock::new(height, false)).await?;
        match answer.msg_type {
            ProtocolMessageTypes::RejectBlock => Ok(None),
            ProtocolMessageTypes::RespondBlock => {
                let respond = RespondBlock::from_bytes_unchecked(&answer.data)
                    .map_err(|error| self.unexpected(&format!("sent an unreadable block: {error}")))?;
                let (found, hash) = (respond.block.height(), respond.block.header_hash());
                if found != height {
                    return Err(self.unexpected("sent another block than it was asked for"));
                }
                Ok(Some(BlockId { height, hash: Bytes32::new(hash.to_bytes()) }))
            }
            other => Err(self.unexpected(&format!("answered {other:?} to a request for a block"))),
        }
    }
}

fn pace(period: Duration) -> Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// The peak the node tells, once that is not `known`; none if the connection ends.
async fn told(peaks: &mut watch::Receiver<Option<NewPeak>>, known: Option<BlockId>) -> Option<Peak> {
    let other = |peak: &Option<NewPeak>| peak.as_ref().is_some_and(|peak| Some(peak_of(peak).block) != known);
    let told = peaks.wait_for(other).await.ok()?;
    told.as_ref().map(peak_of)
}

fn peak_of(peak: &NewPeak) -> Peak {
    let block = BlockId { height: peak.height, hash: Bytes32::new(peak.header_hash.to_bytes()) };
    Peak::now(block)
}
