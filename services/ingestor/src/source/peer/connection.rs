//! One connection to a node.

use chia_protocol::{ChiaProtocolMessage, Handshake, Message, NewPeak, NodeType, ProtocolMessageTypes};
use chia_traits::Streamable;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use mojoscan_domain::Network;
use mojoscan_pipeline::SourceError;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Bytes};
use tokio_util::task::AbortOnDropHandle;

/// Version of the protocol this side speaks.
const PROTOCOL_VERSION: &str = "0.0.37";
/// Longest time to connect and shake hands.
const CONNECT: Duration = Duration::from_secs(15);
/// Longest time for an answer.
const ANSWER: Duration = Duration::from_secs(60);
/// Most bytes of a message: 33 full blocks.
const MESSAGE_BYTES_MAX: usize = 128 << 20;

type Socket = WebSocketStream<TlsStream<TcpStream>>;
type Waiting = Arc<Mutex<HashMap<u16, oneshot::Sender<Message>>>>;

/// One connection to a node.
pub(super) struct Connection {
    address: String,
    sink: tokio::sync::Mutex<SplitSink<Socket, tungstenite::Message>>,
    waiting: Waiting,
    next_id: std::sync::atomic::AtomicU16,
    peaks: watch::Receiver<Option<NewPeak>>,
    loopback: bool,
    reader: AbortOnDropHandle<()>,
}

impl Connection {
    /// Connects and shakes hands.
    pub(super) async fn open(
        address: &str,
        network: Network,
        tls: Arc<ClientConfig>,
    ) -> Result<Self, SourceError> {
        let late = |_| unavailable(address, &"no handshake in time");
        tokio::time::timeout(CONNECT, Self::shake_hands(address, network, tls)).await.map_err(late)?
    }

    async fn shake_hands(
        address: &str,
        network: Network,
        tls: Arc<ClientConfig>,
    ) -> Result<Self, SourceError> {
        let mut socket = connect(address, tls).await?;
        let handshake = Handshake {
            network_id: network.name().to_owned(),
            protocol_version: PROTOCOL_VERSION.to_owned(),
            software_version: concat!("mojoscan-", env!("CARGO_PKG_VERSION")).to_owned(),
            server_port: 0,
            node_type: NodeType::FullNode,
            // base protocol, block headers, the newer rate limits, and hard fork 2, without which a node past it
            // hangs up
            capabilities: [1, 2, 3, 6].map(|capability| (capability, "1".to_owned())).to_vec(),
        };
        socket.send(frame(address, None, &handshake)?).await.map_err(|error| unavailable(address, &error))?;
        let hung_up = |reason| format!("no handshake ({reason}): is it a Chia node, and on {network}?");
        let answer = next(&mut socket).await.map_err(|reason| unavailable(address, &hung_up(reason)))?;
        if answer.msg_type != ProtocolMessageTypes::Handshake {
            return Err(unavailable(address, &"it did not shake hands"));
        }
        let theirs = Handshake::from_bytes(&answer.data).map_err(|error| unavailable(address, &error))?;
        if theirs.network_id != network.name() {
            return Err(SourceError::Broken(format!(
                "peer {address} is on {}, but --network says {network}",
                theirs.network_id
            )));
        }
        let loopback = socket.get_ref().get_ref().0.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
        let (sink, stream) = socket.split();
        let (peak, peaks) = watch::channel(None);
        let waiting = Waiting::default();
        let reader = tokio::spawn(read(address.to_owned(), stream, Arc::clone(&waiting), peak));
        Ok(Self {
            address: address.to_owned(),
            sink: tokio::sync::Mutex::new(sink),
            waiting,
            next_id: 0.into(),
            peaks,
            loopback,
            reader: AbortOnDropHandle::new(reader),
        })
    }

    /// Whether the node can still be asked.
    pub(super) fn is_open(&self) -> bool {
        !self.reader.is_finished()
    }

    /// Whether the node is on this machine.
    pub(super) const fn is_loopback(&self) -> bool {
        self.loopback
    }

    /// The peaks the node tells.
    pub(super) fn peaks(&self) -> watch::Receiver<Option<NewPeak>> {
        self.peaks.clone()
    }

    /// Asks, and waits for the answer.
    pub(super) async fn request<T>(&self, request: T) -> Result<Message, SourceError>
    where
        T: Streamable + ChiaProtocolMessage,
    {
        // the node numbers its own requests from 2^15 on
        let id = self.next_id.fetch_add(1, std::sync::atomic::Ordering::Relaxed) & 0x7fff;
        let (sender, answer) = oneshot::channel();
        lock(&self.waiting).insert(id, sender);
        let exchange = async {
            let frame = frame(&self.address, Some(id), &request)?;
            self.sink.lock().await.send(frame).await.map_err(|error| unavailable(&self.address, &error))?;
            answer.await.map_err(|_| unavailable(&self.address, &"the connection was lost"))
        };
        let answer = tokio::time::timeout(ANSWER, exchange).await;
        lock(&self.waiting).remove(&id);
        answer.unwrap_or_else(|_| Err(unavailable(&self.address, &"no answer in time")))
    }
}

async fn connect(address: &str, tls: Arc<ClientConfig>) -> Result<Socket, SourceError> {
    let tcp = TcpStream::connect(address).await.map_err(|error| unavailable(address, &error))?;
    tcp.set_nodelay(true).map_err(|error| unavailable(address, &error))?;
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| SourceError::Broken(format!("peer {address}: the host name is not valid")))?;
    let tls =
        TlsConnector::from(tls).connect(name, tcp).await.map_err(|error| unavailable(address, &error))?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX));
    let url = format!("wss://{address}/ws");
    tokio_tungstenite::client_async_with_config(url, tls, Some(config))
        .await
        .map(|(socket, _)| socket)
        .map_err(|error| unavailable(address, &error))
}

/// Hands each answer to who waits for it, and each peak to who watches. Ends with the connection; then nobody waits
/// any longer.
async fn read(
    address: String,
    mut stream: SplitStream<Socket>,
    waiting: Waiting,
    peak: watch::Sender<Option<NewPeak>>,
) {
    let reason = loop {
        let message = match next(&mut stream).await {
            Ok(message) => message,
            Err(reason) => break reason,
        };
        if let Some(id) = message.id
            && let Some(asked) = lock(&waiting).remove(&id)
        {
            // who asked may have given up
            drop(asked.send(message));
        } else if message.msg_type == ProtocolMessageTypes::NewPeak {
            match NewPeak::from_bytes(&message.data) {
                Ok(told) => drop(peak.send_replace(Some(told))),
                Err(error) => break format!("an unreadable peak: {error}"),
            }
        }
    };
    tracing::debug!(peer = address, reason, "connection ended");
    lock(&waiting).clear();
}

/// The next message of the protocol.
async fn next(
    stream: &mut (impl StreamExt<Item = Result<tungstenite::Message, tungstenite::Error>> + Unpin),
) -> Result<Message, String> {
    loop {
        match stream.next().await {
            Some(Ok(tungstenite::Message::Binary(bytes))) => {
                return Message::from_bytes(&bytes)
                    .map_err(|error| format!("an unreadable message: {error}"));
            }
            Some(Ok(tungstenite::Message::Close(_))) | None => return Err("the node hung up".to_owned()),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error.to_string()),
        }
    }
}

fn frame<T>(address: &str, id: Option<u16>, body: &T) -> Result<tungstenite::Message, SourceError>
where
    T: Streamable + ChiaProtocolMessage,
{
    let unwritable = |error| SourceError::Broken(format!("peer {address}: cannot write a message: {error}"));
    let data = body.to_bytes().map_err(unwritable)?.into();
    let message = Message { msg_type: T::msg_type(), id, data };
    Ok(tungstenite::Message::Binary(Bytes::from(message.to_bytes().map_err(unwritable)?)))
}

fn unavailable(address: &str, reason: &dyn std::fmt::Display) -> SourceError {
    SourceError::Unavailable(format!("peer {address}: {reason}"))
}

fn lock(waiting: &Waiting) -> std::sync::MutexGuard<'_, HashMap<u16, oneshot::Sender<Message>>> {
    // the map is never left half-changed
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
