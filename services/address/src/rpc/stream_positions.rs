//! How far each shard is.

use super::{AddressRpc, convert};
use crate::store::AddressStore;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use mojoscan_pipeline::runner::{ProgressMap, State};
use mojoscan_proto::address::v1::{AsOf, Position, StreamPositionsResponse};
use tonic::Status;

impl<S: AddressStore> AddressRpc<S> {
    pub(super) fn positions(&self) -> BoxStream<'static, Result<StreamPositionsResponse, Status>> {
        let mut progress = self.progress.clone();
        // the present state comes at once
        progress.mark_changed();
        stream::unfold(progress, |mut progress| async move {
            // ends with the service
            progress.changed().await.ok()?;
            let response = positions(&progress.borrow_and_update());
            Some((Ok(response), progress))
        })
        .boxed()
    }
}

fn positions(progress: &ProgressMap) -> StreamPositionsResponse {
    let positions = progress.iter().map(|(shard, progress)| {
        let watermark = progress.watermark;
        Position {
            as_of: Some(AsOf {
                shard: *shard,
                epoch: progress.position.epoch,
                block: progress.position.block.map(convert::block_id),
                peak_height: watermark.map_or(0, |watermark| watermark.peak_height),
                heard_at_ms: watermark.map_or(Some(0), |watermark| watermark.heard_at_ms),
            }),
            stopped: match &progress.state {
                State::Running => String::new(),
                State::Stopped(reason) => reason.clone(),
            },
        }
    });
    StreamPositionsResponse { positions: positions.collect() }
}
