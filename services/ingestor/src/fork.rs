//! Finds the last block that the log and the source's chain have in common.

use crate::ingestor::IngestError;
use mojoscan_domain::BlockId;
use mojoscan_pipeline::{BlockSource, Peak, Publisher, RewindTo};

/// What to do before the next block can be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fork {
    /// Nothing: the last published block is on the source's chain.
    None,
    /// Nothing can be done: the source is behind, on the same chain.
    Behind,
    /// Go back.
    Rewind(RewindTo),
}

/// Compares the last published block with the source's chain.
///
/// A source that is only behind is waited for: a node that was set back to an older state grows again.
pub(crate) async fn find(
    source: &dyn BlockSource,
    publisher: &mut impl Publisher,
    at: Option<BlockId>,
    peak: Peak,
) -> Result<Fork, IngestError> {
    let Some(mut block) = at else { return Ok(Fork::None) };
    loop {
        let reached = block.height <= peak.block.height;
        if reached && (block == peak.block || source.find_id(block.height).await? == Some(block)) {
            return Ok(if Some(block) == at {
                Fork::None
            } else if block == peak.block {
                Fork::Behind
            } else {
                Fork::Rewind(RewindTo(Some(block)))
            });
        }
        match publisher.find_previous(block).await? {
            Some(previous) => block = previous,
            None if block.height == 0 => return Ok(Fork::Rewind(RewindTo(None))),
            None if !reached => return Ok(Fork::Behind),
            None => return Err(IngestError::TooDeep { known: block }),
        }
    }
}
