//! Blocks in a row: fetched and decoded in parallel, handed on in order.

use crate::decode::Decoder;
use crate::ingestor::IngestError;
use futures::{Stream, StreamExt, stream};
use mojoscan_pipeline::BlockEvents;
use std::sync::Arc;

/// Blocks fetched at once: what a node gives in one answer.
const RUN: u32 = 32;

/// The blocks of these heights, in runs, in order. At most `parallel` runs are fetched and decoded at a time, or wait
/// to be taken.
pub(crate) fn blocks(
    decoder: Arc<Decoder>,
    first: u32,
    last: u32,
    parallel: usize,
) -> impl Stream<Item = Result<Vec<BlockEvents>, IngestError>> + Send {
    let runs = (first..=last)
        .step_by(RUN as usize)
        .map(move |start| (start, last.min(start.saturating_add(RUN - 1))));
    stream::iter(runs)
        .map(move |(start, end)| tokio::spawn(Arc::clone(&decoder).run(start, end)))
        .buffered(parallel)
        .map(|joined| joined.unwrap_or_else(|error| Err(IngestError::Panicked(error.to_string()))))
}
