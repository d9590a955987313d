//! A node's JSON RPC, with the client certificate it accepts.

use super::tls;
use async_trait::async_trait;
use mojoscan_chia::Block;
use mojoscan_domain::{BlockId, Bytes32, Network};
use mojoscan_pipeline::{BlockSource, Peak, SourceError};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Longest time for one call.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Most bytes of an answer: 32 full blocks as JSON.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// How often the peak is asked for while waiting for another.
const POLL: Duration = Duration::from_millis(250);

/// A node's JSON RPC.
pub struct Rpc {
    address: String,
    client: reqwest::Client,
    network: Option<Network>,
}

impl Rpc {
    /// Connects, and asks for the network.
    ///
    /// # Errors
    /// [`SourceError`] if the certificate cannot be read, or the node does not answer.
    pub async fn connect(address: &str, certificate: &Path, key: &Path) -> Result<Self, SourceError> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| SourceError::Broken(format!("{}: {error}", path.display())))
        };
        let config = tls::client(&read(certificate)?, &read(key)?)?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .timeout(TIMEOUT)
            .no_proxy()
            .build()
            .map_err(|error| SourceError::Broken(format!("cannot speak TLS: {error}")))?;
        let mut rpc = Self { address: address.to_owned(), client, network: None };
        let info = rpc.call("get_network_info", json!({})).await?;
        let name = text(&info, "network_name")?;
        let network =
            name.parse().map_err(|error| SourceError::Broken(format!("{}: {error}", rpc.describe())))?;
        rpc.network = Some(network);
        Ok(rpc)
    }

    async fn call(&self, method: &str, parameters: Value) -> Result<Value, SourceError> {
        let unavailable = |reason: &dyn std::fmt::Display| {
            SourceError::Unavailable(format!("{}: {method}: {reason}", self.describe()))
        };
        let url = format!("https://{}/{method}", self.address);
        let mut response = self
            .client
            .post(url)
            .json(&parameters)
            .send()
            .await
            .map_err(|error| unavailable(&causes(&error)))?;
        let mut body = vec![];
        while let Some(chunk) = response.chunk().await.map_err(|error| unavailable(&causes(&error)))? {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(unavailable(&"the answer is too large"));
            }
            body.extend_from_slice(&chunk);
        }
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|_| unavailable(&format!("answered {} without JSON", response.status())))?;
        if answer["success"] == true {
            return Ok(answer);
        }
        Err(unavailable(&answer["error"].as_str().unwrap_or("no success")))
    }
}

#[async_trait]
impl BlockSource for Rpc {
    fn describe(&self) -> String {
        format!("RPC of {}", self.address)
    }

    fn network(&self) -> Option<Network> {
        self.network
    }

    async fn peak(&self) -> Result<Peak, SourceError> {
        let answer = self.call("get_blockchain_state", json!({})).await?;
        let peak = &answer["blockchain_state"]["peak"];
        if peak.is_null() {
            return Err(SourceError::Unavailable(format!("{} has no peak yet", self.describe())));
        }
        Ok(Peak::now(id(peak)?))
    }

    async fn changed_peak(&self, known: BlockId, patience: Duration) -> Result<Peak, SourceError> {
        let until = Instant::now() + patience;
        loop {
            let peak = self.peak().await?;
            if peak.block != known || Instant::now() >= until {
                return Ok(peak);
            }
            tokio::time::sleep(POLL.min(until - Instant::now())).await;
        }
    }

    async fn blocks(&self, first: u32, last: u32) -> Result<Vec<Vec<u8>>, SourceError> {
        let parameters = json!({ "start": first, "end": u64::from(last) + 1, "exclude_header_hash": true, "exclude_reorged": true });
        let mut answer = self.call("get_blocks", parameters).await?;
        let Value::Array(blocks) = answer["blocks"].take() else {
            return Err(SourceError::Unavailable(format!("{} gave no blocks", self.describe())));
        };
        let work = move || -> Result<Vec<(u32, Vec<u8>)>, SourceError> {
            let broken = |error: mojoscan_chia::DecodeError| SourceError::Unavailable(error.to_string());
            blocks
                .into_iter()
                .map(|json| {
                    let block = Block::from_json_value(json).map_err(broken)?;
                    Ok((block.id().height, block.to_bytes().map_err(broken)?))
                })
                .collect()
        };
        let mut blocks = match tokio::task::spawn_blocking(work).await {
            Ok(blocks) => blocks?,
            Err(error) => return Err(SourceError::Broken(format!("reading blocks failed: {error}"))),
        };
        blocks.sort_unstable_by_key(|(height, _)| *height);
        if !blocks.iter().map(|(height, _)| *height).eq(first..=last) {
            return Err(SourceError::Missing { first, last });
        }
        Ok(blocks.into_iter().map(|(_, bytes)| bytes).collect())
    }

    async fn find_id(&self, height: u32) -> Result<Option<BlockId>, SourceError> {
        if height > self.peak().await?.block.height {
            return Ok(None);
        }
        let answer = self.call("get_block_record_by_height", json!({ "height": height })).await?;
        id(&answer["block_record"]).map(Some)
    }
}

fn id(record: &Value) -> Result<BlockId, SourceError> {
    let height = record["height"].as_u64().and_then(|height| u32::try_from(height).ok());
    let hash: Option<Bytes32> = text(record, "header_hash")?.parse().ok();
    match (height, hash) {
        (Some(height), Some(hash)) => Ok(BlockId { height, hash }),
        _ => Err(SourceError::Unavailable("the node's answer names no block".to_owned())),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, SourceError> {
    value[key].as_str().ok_or_else(|| SourceError::Unavailable(format!("the node's answer has no {key}")))
}

/// An error with its causes: reqwest keeps what matters in them.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
