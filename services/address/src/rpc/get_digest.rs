//! The digest of all rows.

use super::{AddressRpc, convert, failed};
use crate::store::{AddressStore, ViewError};
use mojoscan_domain::{Digest, Position};
use mojoscan_pipeline::Partition;
use mojoscan_proto::address::v1::{AsOf, GetDigestRequest, GetDigestResponse};
use mojoscan_runtime::Code;
use tonic::Status;
use tracing::error;

impl<S: AddressStore> AddressRpc<S> {
    pub(super) async fn digest(&self, request: GetDigestRequest) -> Result<GetDigestResponse, Status> {
        let shards: Vec<u32> = self.progress.borrow().keys().copied().collect();
        if shards.is_empty() {
            return Err(Code::Unavailable.status("it is not known yet how far the shards are; try again"));
        }
        let mut sum = Digest::EMPTY;
        let mut at: Option<(Partition, Position)> = None;
        for shard in shards {
            let (position, digest) = self.digest_of(shard, request.recompute).await?;
            if at.is_some_and(|(_, other)| other.block != position.block) {
                return Err(Code::Unavailable.status("the shards are at different blocks; try again"));
            }
            at = at.or(Some((shard, position)));
            sum += digest;
        }
        let as_of = at.map(|(shard, position)| AsOf {
            shard,
            epoch: position.epoch,
            block: position.block.map(convert::block_id),
            ..AsOf::default()
        });
        Ok(GetDigestResponse { as_of, digest: sum.to_bytes32().to_bytes().to_vec() })
    }

    /// The digest that was kept of a shard's rows, if they have it.
    async fn digest_of(&self, shard: Partition, recompute: bool) -> Result<(Position, Digest), Status> {
        let store = |error| failed(&ViewError::Store(error));
        let kept = self.store.digest(shard).await.map_err(store)?;
        if recompute {
            let found = self.store.recomputed_digest(shard).await.map_err(store)?;
            if found.0 != kept.0 {
                return Err(Code::Unavailable.status("a block came while the rows were read; try again"));
            }
            if found.1 != kept.1 {
                error!(shard, "the rows do not have the digest that was kept of them");
                return Err(Code::Internal.status("the rows do not have the digest that was kept of them"));
            }
        }
        Ok(kept)
    }
}
