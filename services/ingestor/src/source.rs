//! Where blocks come from: a node over its peer protocol, its database file or its RPC, or a recording of one.

pub mod database;
pub mod peer;
pub mod recording;
pub mod rpc;
mod tls;

use mojoscan_domain::Network;
use mojoscan_pipeline::{BlockSource, SourceError};
use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use url::Url;

/// Most bytes of a block. The network's message limit is far lower.
const BLOCK_BYTES_MAX: u64 = 64 << 20;

/// A source, as it is written on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceUrl {
    /// `demo`: the recording that comes with the program.
    Demo,
    /// `recording:///path`.
    Recording(PathBuf),
    /// `peer://host:port`: a node's peer port.
    Peer(String),
    /// `db:///path/blockchain_v2_x.sqlite`: a node's database.
    Database {
        /// The file.
        path: PathBuf,
        /// `?immutable=1`: the node is stopped, and the folder is not written to.
        immutable: bool,
    },
    /// `rpc://host:port?cert=/path&key=/path`: a node's RPC port with the client certificate it accepts.
    Rpc {
        /// Host and port.
        address: String,
        /// The certificate, as PEM.
        certificate: PathBuf,
        /// Its private key, as PEM.
        key: PathBuf,
    },
}

/// A source that cannot be read as one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is not a source ({reason}): expected demo, recording:///path, peer://host:port, \
     db:///path/blockchain_v2_x.sqlite or rpc://host:port?cert=/path&key=/path"
)]
pub struct ParseSourceError {
    text: String,
    reason: String,
}

impl FromStr for SourceUrl {
    type Err = ParseSourceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |reason: &str| ParseSourceError { text: text.to_owned(), reason: reason.to_owned() };
        if text == "demo" {
            return Ok(Self::Demo);
        }
        let url = Url::parse(text).map_err(|parse| error(&parse.to_string()))?;
        let parameter =
            |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let address = || match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => Ok(format!("{host}:{port}")),
            _ => Err(error("host and port are needed")),
        };
        let path = || match url.path() {
            "" | "/" => Err(error("a path is needed")),
            path if url.host_str().is_some_and(|host| !host.is_empty()) => {
                Err(error(&format!("write three slashes before {path}")))
            }
            path => Url::parse(&format!("file://{path}"))
                .ok()
                .and_then(|file| file.to_file_path().ok())
                .ok_or_else(|| error("the path cannot be read")),
        };
        match url.scheme() {
            "recording" => Ok(Self::Recording(path()?)),
            "peer" => Ok(Self::Peer(address()?)),
            "db" => {
                let immutable = match parameter("immutable").as_deref() {
                    None | Some("0") => false,
                    Some("1") => true,
                    Some(_) => return Err(error("immutable is 0 or 1")),
                };
                Ok(Self::Database { path: path()?, immutable })
            }
            "rpc" => {
                let file =
                    |name| parameter(name).map(PathBuf::from).ok_or_else(|| error("cert and key are needed"));
                Ok(Self::Rpc { address: address()?, certificate: file("cert")?, key: file("key")? })
            }
            other => Err(error(&format!("unknown scheme {other}"))),
        }
    }
}

impl fmt::Display for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Demo => write!(f, "demo"),
            Self::Recording(path) => write!(f, "recording://{}", path.display()),
            Self::Peer(address) => write!(f, "peer://{address}"),
            Self::Database { path, immutable: false } => write!(f, "db://{}", path.display()),
            Self::Database { path, immutable: true } => write!(f, "db://{}?immutable=1", path.display()),
            Self::Rpc { address, certificate, key } => {
                write!(f, "rpc://{address}?cert={}&key={}", certificate.display(), key.display())
            }
        }
    }
}

/// Opens a source, and checks that it carries the network that is wanted. A recording carries its own: without a
/// wish, that is taken.
///
/// # Errors
/// [`SourceError`] if it cannot be opened, or carries another network.
pub async fn open(
    url: &SourceUrl,
    wanted: Option<Network>,
    demo: &'static [u8],
) -> Result<(Arc<dyn BlockSource>, Network), SourceError> {
    let expected = wanted.unwrap_or(Network::Mainnet);
    let source: Arc<dyn BlockSource> = match url {
        SourceUrl::Demo => Arc::new(recording::Recording::from_bytes("demo", demo)?),
        SourceUrl::Recording(path) => Arc::new(recording::Recording::open(path)?),
        SourceUrl::Peer(address) => Arc::new(peer::Peer::new(address.clone(), expected)?),
        SourceUrl::Database { path, immutable } => Arc::new(database::Database::open(path, *immutable)?),
        SourceUrl::Rpc { address, certificate, key } => {
            Arc::new(rpc::Rpc::connect(address, certificate, key).await?)
        }
    };
    let found = source.network();
    match (wanted, found) {
        (Some(wanted), Some(found)) if wanted != found => Err(SourceError::Broken(format!(
            "{} carries {found}, but --network says {wanted}",
            source.describe()
        ))),
        _ => {
            let network = wanted.or(found).unwrap_or(expected);
            Ok((source, network))
        }
    }
}

/// Unpacks a block that was compressed with zstd.
fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut block = vec![];
    zstd::Decoder::with_buffer(packed)?.take(BLOCK_BYTES_MAX + 1).read_to_end(&mut block)?;
    if block.len() as u64 > BLOCK_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is larger than a block can be"));
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_read_and_written() {
        for text in [
            "demo",
            "recording:///tmp/a.recording",
            "peer://127.0.0.1:8444",
            "peer://node.example:8444",
            "db:///x/blockchain_v2_mainnet.sqlite",
            "db:///x/blockchain_v2_mainnet.sqlite?immutable=1",
            "rpc://localhost:8555?cert=/a/b.crt&key=/a/b.key",
        ] {
            assert_eq!(text.parse::<SourceUrl>().unwrap().to_string(), text);
        }
        let spaced: SourceUrl = "recording:///tmp/a%20b+c.recording".parse().unwrap();
        assert_eq!(spaced, SourceUrl::Recording("/tmp/a b+c.recording".into()));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "x",
            "peer://host",
            "peer:///x",
            "recording://",
            "recording://tmp/x",
            "db:///x?immutable=2",
            "rpc://h:1",
            "http://h:1",
        ] {
            assert!(text.parse::<SourceUrl>().is_err(), "{text}");
        }
    }
}
