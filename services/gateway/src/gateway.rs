//! What the handlers share.

use crate::answer::Answer;
use crate::cache::{Answers, Entry, Key};
use crate::clients::address::AddressClient;
use crate::clients::{AsOf, Heard};
use crate::config::GatewayConfig;
use crate::error::{ApiError, ErrorCode};
use mojoscan_domain::{Network, PuzzleHash, address};
use mojoscan_runtime::health::Condition;
use serde::Serialize;
use serde_json::json;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// What the handlers share. Cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    network: Network,
    max_staleness: Duration,
    answers: Answers,
    address: AddressClient,
}

impl Gateway {
    /// A gateway to these services, for one network.
    pub fn new(config: &GatewayConfig, network: Network, address: AddressClient) -> Self {
        let answers = Answers::new(config.cache_mib << 20);
        Self(Arc::new(Inner { network, max_staleness: config.max_staleness(), answers, address }))
    }

    /// The network served.
    pub(crate) fn network(&self) -> Network {
        self.0.network
    }

    /// The address service.
    pub(crate) fn addresses(&self) -> &AddressClient {
        &self.0.address
    }

    /// A puzzle hash as people write it.
    pub(crate) fn address_of(&self, owner: PuzzleHash) -> String {
        address::encode_address(self.0.network, owner)
    }

    /// Whether the services are heard from, and what they have is fresh enough to be given out. How far behind they are
    /// is told, and is theirs to judge.
    pub fn condition(&self) -> Condition {
        let positions = self.0.address.positions();
        let Some(heard) = positions.heard else {
            return Condition::not_ready("the address service was not heard from");
        };
        match self.age_seconds(heard) {
            Ok(age) => Condition::ready(json!({
                "silence_seconds": age,
                "lag_blocks": positions.lag_blocks(),
                "stopped": positions.stopped,
            })),
            Err(error) => Condition::not_ready(&error.message),
        }
    }

    /// How long ago the chain was heard from, unless that is too long.
    fn age_seconds(&self, heard: Heard) -> Result<u64, ApiError> {
        let age = heard.age_seconds().ok_or_else(ApiError::not_ready)?;
        if age > self.0.max_staleness.as_secs() {
            let message = format!("the chain was last heard from {age} seconds ago");
            return Err(ApiError::unavailable(ErrorCode::Stale, message));
        }
        Ok(age)
    }

    /// Answers from the cache, or with what `make` composes. An answer that is too old is refused.
    pub(crate) async fn answer<T, F>(&self, key: Key, make: impl FnOnce() -> F) -> Result<Answer, ApiError>
    where
        T: Serialize,
        F: Future<Output = Result<(AsOf, T), ApiError>>,
    {
        let positions = self.0.address.positions();
        let made = async {
            let (as_of, body) = make().await?;
            Entry::new(as_of, &body)
        };
        let entry = self.0.answers.get(positions.generation, key, made).await?;
        // an answer may be ahead of what was told of the shards' positions, and one from the cache behind it
        let told = self.0.address.positions().heard;
        let heard = told.map_or(entry.as_of.heard, |told| told.later(entry.as_of.heard));
        let age_seconds = self.age_seconds(heard)?;
        Ok(Answer { entry, peak_height: heard.peak_height, age_seconds })
    }
}
