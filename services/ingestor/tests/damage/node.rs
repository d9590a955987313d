//! The two doors of a node, as far as a test has it answer: the peer port and the RPC port.

use super::support::Built;
use chia_protocol::{
    Bytes32, ChiaProtocolMessage, FullBlock, Handshake, Message, NewPeak, NodeType, ProtocolMessageTypes,
    RejectBlock, RejectBlocks, RequestBlock, RequestBlocks, RespondBlock, RespondBlocks,
};
use chia_ssl::ChiaCertificate;
use chia_traits::Streamable;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Bytes, Message as Frame};
use tokio_util::task::AbortOnDropHandle;

/// What a node does instead of answering, or with an answer.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// What a node in order would answer.
    Good,
    /// These bytes, as one message.
    Frame(Vec<u8>),
    /// These bytes, below the protocol of messages.
    Raw(Vec<u8>),
    /// These bytes, and then the end of the connection.
    Cut(Vec<u8>),
    /// Nothing, for ever.
    Silence,
}

/// Says what to do with the nth request.
pub(crate) type Script<T> = Arc<dyn Fn(usize, &T) -> Answer + Send + Sync>;

/// A node that answers as its script says.
pub(crate) struct Node {
    pub(crate) address: String,
    /// How often it was asked for something that the script decides.
    pub(crate) asked: Arc<AtomicUsize>,
    /// How often it was connected to.
    pub(crate) connections: Arc<AtomicUsize>,
    _task: AbortOnDropHandle<()>,
}

impl Node {
    /// `connection` is given its number, too.
    async fn serve<F>(connection: impl Fn(TcpStream, Arc<AtomicUsize>, usize) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (asked, connections) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (count, number) = (Arc::clone(&asked), Arc::clone(&connections));
        let task = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let number = number.fetch_add(1, Ordering::SeqCst);
                open.spawn(connection(stream, Arc::clone(&count), number));
            }
        });
        Self { address, asked, connections, _task: AbortOnDropHandle::new(task) }
    }

    /// A port that says these bytes to whoever connects, and then nothing.
    pub(crate) async fn saying(bytes: &'static [u8]) -> Self {
        let connection = async |mut stream: TcpStream| {
            drop(stream.write_all(bytes).await);
            let mut rest = vec![];
            drop(stream.read_to_end(&mut rest).await);
        };
        Self::serve(move |stream, asked, _| async move {
            asked.fetch_add(1, Ordering::SeqCst);
            connection(stream).await;
        })
        .await
    }

    /// A peer port. `greeting` is what it does with the handshake; `script` decides about requests.
    pub(crate) async fn peer(chain: &[Built], greeting: Answer, script: Script<Message>) -> Self {
        Self::greeting(chain, move |_| greeting.clone(), script).await
    }

    /// The same with another greeting for each connection.
    pub(crate) async fn greeting(
        chain: &[Built],
        greeting: impl Fn(usize) -> Answer + Send + 'static,
        script: Script<Message>,
    ) -> Self {
        let (chain, tls): (Arc<[Built]>, _) = (chain.into(), acceptor());
        let serve = move |stream: TcpStream, asked: Arc<AtomicUsize>, number: usize| {
            let (chain, tls, greeting, script) =
                (Arc::clone(&chain), tls.clone(), greeting(number), Arc::clone(&script));
            async move {
                // whoever hangs up has seen enough
                let Ok(tls) = tls.accept(stream).await else { return };
                if let Ok(socket) = tokio_tungstenite::accept_async(tls).await {
                    talk(socket, &chain, greeting, &*script, &asked).await;
                }
            }
        };
        Self::serve(serve).await
    }

    /// An RPC port. The script is given the name of the method, and decides about all of them.
    pub(crate) async fn rpc(chain: &[Built], script: Script<String>) -> Self {
        let (chain, tls): (Arc<[Built]>, _) = (chain.into(), acceptor());
        let serve = move |stream: TcpStream, asked: Arc<AtomicUsize>, _| {
            let (chain, tls, script) = (Arc::clone(&chain), tls.clone(), Arc::clone(&script));
            async move {
                if let Ok(tls) = tls.accept(stream).await {
                    answer_calls(tls, &chain, &*script, &asked).await;
                }
            }
        };
        Self::serve(serve).await
    }
}

/// TLS as a node speaks it.
fn acceptor() -> TlsAcceptor {
    let certificate = ChiaCertificate::generate().unwrap();
    let chain = vec![CertificateDer::from_pem_slice(certificate.cert_pem.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(certificate.key_pem.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// A client's certificate and key, as files.
pub(crate) fn client_files() -> (TempDir, PathBuf, PathBuf) {
    let (folder, certificate) = (tempfile::tempdir().unwrap(), ChiaCertificate::generate().unwrap());
    let (cert, key) = (folder.path().join("node.crt"), folder.path().join("node.key"));
    std::fs::write(&cert, certificate.cert_pem).unwrap();
    std::fs::write(&key, certificate.key_pem).unwrap();
    (folder, cert, key)
}

/// A message of the protocol.
pub(crate) fn message<T: Streamable + ChiaProtocolMessage>(id: Option<u16>, body: &T) -> Vec<u8> {
    let data = body.to_bytes().unwrap().into();
    Message { msg_type: T::msg_type(), id, data }.to_bytes().unwrap()
}

/// The handshake of a node of a network.
pub(crate) fn handshake(network: &str) -> Vec<u8> {
    let handshake = Handshake {
        network_id: network.to_owned(),
        protocol_version: "0.0.37".to_owned(),
        software_version: "2.5.0".to_owned(),
        server_port: 8444,
        node_type: NodeType::FullNode,
        capabilities: vec![(1, "1".to_owned())],
    };
    message(None, &handshake)
}

/// The announcement of a chain's peak.
pub(crate) fn new_peak(chain: &[Built]) -> Vec<u8> {
    let peak = chain.last().unwrap().id;
    let none = Bytes32::default();
    message(None, &NewPeak::new(peak.hash.to_bytes().into(), peak.height, 42, 0, none))
}

/// Blocks, as the answer to a request for some.
pub(crate) fn respond_blocks(id: Option<u16>, first: u32, last: u32, blocks: &[Built]) -> Vec<u8> {
    let blocks = blocks.iter().map(full_block).collect();
    message(id, &RespondBlocks::new(first, last, blocks))
}

fn full_block(built: &Built) -> FullBlock {
    FullBlock::from_bytes_unchecked(&built.bytes).unwrap()
}

/// What a node in order answers to a request.
fn good(chain: &[Built], asked: &Message) -> Option<Vec<u8>> {
    match asked.msg_type {
        ProtocolMessageTypes::RequestBlocks => {
            let range = RequestBlocks::from_bytes(&asked.data).unwrap();
            let (first, last) = (range.start_height, range.end_height);
            Some(match chain.get(first as usize..=last as usize) {
                Some(blocks) => respond_blocks(asked.id, first, last, blocks),
                None => message(asked.id, &RejectBlocks::new(first, last)),
            })
        }
        ProtocolMessageTypes::RequestBlock => {
            let height = RequestBlock::from_bytes(&asked.data).unwrap().height;
            Some(match chain.get(height as usize) {
                Some(built) => message(asked.id, &RespondBlock::new(full_block(built))),
                None => message(asked.id, &RejectBlock::new(height)),
            })
        }
        _ => None,
    }
}

async fn talk(
    mut socket: WebSocketStream<TlsStream<TcpStream>>,
    chain: &[Built],
    greeting: Answer,
    script: &(dyn Fn(usize, &Message) -> Answer + Send + Sync),
    asked: &AtomicUsize,
) {
    let mut greeting = Some(greeting);
    while let Some(Ok(frame)) = socket.next().await {
        let Frame::Binary(bytes) = frame else { continue };
        let request = Message::from_bytes(&bytes).unwrap();
        let (answer, usual) = match greeting.take() {
            Some(Answer::Good) => {
                let shaken = socket.send(Frame::Binary(handshake("simulator0").into())).await;
                if shaken.is_err() {
                    return;
                }
                (Answer::Good, Some(new_peak(chain)))
            }
            Some(other) => (other, None),
            None => (script(asked.fetch_add(1, Ordering::SeqCst), &request), good(chain, &request)),
        };
        let bytes = match answer {
            Answer::Good => usual.unwrap_or_default(),
            Answer::Frame(bytes) => bytes,
            Answer::Raw(bytes) => {
                drop(socket.get_mut().write_all(&bytes).await);
                drop(socket.get_mut().flush().await);
                continue;
            }
            Answer::Cut(bytes) => {
                drop(socket.get_mut().write_all(&bytes).await);
                drop(socket.get_mut().flush().await);
                return;
            }
            Answer::Silence => continue,
        };
        if socket.send(Frame::Binary(Bytes::from(bytes))).await.is_err() {
            return;
        }
    }
}

/// JSON as the body of an HTTP answer.
pub(crate) fn http(status: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// JSON as a node gives it.
pub(crate) fn success(mut value: Value) -> Vec<u8> {
    value["success"] = true.into();
    http("200 OK", value.to_string().as_bytes())
}

/// Blocks as JSON.
pub(crate) fn blocks_json(blocks: &[Built]) -> Value {
    json!({ "blocks": blocks.iter().map(|built| serde_json::to_value(full_block(built)).unwrap()).collect::<Vec<_>>() })
}

fn good_call(chain: &[Built], method: &str, parameters: &Value) -> Vec<u8> {
    let record =
        |built: &Built| json!({ "height": built.id.height, "header_hash": format!("0x{}", built.id.hash) });
    let number = |key: &str| usize::try_from(parameters[key].as_u64().unwrap()).unwrap();
    success(match method {
        "get_network_info" => json!({ "network_name": "simulator0", "network_prefix": "txch" }),
        "get_blockchain_state" => json!({ "blockchain_state": { "peak": record(chain.last().unwrap()) } }),
        "get_block_record_by_height" => json!({ "block_record": record(&chain[number("height")]) }),
        "get_blocks" => blocks_json(&chain[number("start")..number("end")]),
        other => panic!("no such method: {other}"),
    })
}

async fn answer_calls(
    mut stream: TlsStream<TcpStream>,
    chain: &[Built],
    script: &(dyn Fn(usize, &String) -> Answer + Send + Sync),
    asked: &AtomicUsize,
) {
    let mut buffer = vec![];
    while let Some((method, parameters)) = call(&mut stream, &mut buffer).await {
        let (bytes, end) = match script(asked.fetch_add(1, Ordering::SeqCst), &method) {
            Answer::Good => (good_call(chain, &method, &parameters), false),
            Answer::Frame(bytes) | Answer::Raw(bytes) => (bytes, false),
            Answer::Cut(bytes) => (bytes, true),
            Answer::Silence => continue,
        };
        if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        if end {
            drop(stream.shutdown().await);
            return;
        }
    }
}

/// The next request of a connection: the method and its parameters.
async fn call(stream: &mut TlsStream<TcpStream>, buffer: &mut Vec<u8>) -> Option<(String, Value)> {
    loop {
        let text = String::from_utf8_lossy(buffer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            })?;
            if body.len() >= length {
                let path = head.split(' ').nth(1)?.trim_start_matches('/').to_owned();
                let parameters = serde_json::from_str(&body[..length]).ok()?;
                buffer.drain(..head.len() + 4 + length);
                return Some((path, parameters));
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}
