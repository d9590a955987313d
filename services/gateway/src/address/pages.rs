//! Pages of lists.

use super::Asked;
use super::shapes::Paged;
use crate::clients::AsOf;
use crate::clients::address::{List, Page, Transfer};
use crate::error::ApiError;
use crate::gateway::Gateway;
use mojoscan_domain::PuzzleHash;
use utoipa::ToSchema;

/// Pages that were asked for, one of each list at most.
pub(crate) struct Wanted {
    pub(crate) owner: PuzzleHash,
    pub(crate) count: u32,
    /// Each list with its cursor.
    pub(crate) lists: Vec<(List, u64)>,
}

impl Wanted {
    /// A page of what was sent and one of what was received.
    pub(crate) fn both(
        asked: &Asked,
        gateway: &Gateway,
        sent: List,
        received: List,
    ) -> Result<Self, ApiError> {
        let query = asked.query(gateway)?;
        Ok(Self {
            owner: asked.owner(gateway)?,
            count: query.count()?,
            lists: vec![(sent, query.cursor("send_cursor")?), (received, query.cursor("received_cursor")?)],
        })
    }

    /// What the answer depends on, beside the owner.
    pub(crate) fn parameters(&self) -> Vec<u64> {
        let lists = self.lists.iter().flat_map(|(list, cursor)| [*list as u64, *cursor]);
        std::iter::once(u64::from(self.count)).chain(lists).collect()
    }

    /// The pages, all true at the same block.
    pub(crate) async fn read(&self, gateway: &Gateway) -> Result<(AsOf, Vec<Page>), ApiError> {
        let pages: Vec<_> = self.lists.iter().map(|(list, cursor)| (*list, *cursor, self.count)).collect();
        let (as_of, found) = gateway.addresses().transfers(self.owner, &pages).await?;
        if found.len() != pages.len() {
            tracing::error!("the address service gave other pages than it was asked for");
            return Err(ApiError::internal());
        }
        Ok((as_of, found))
    }
}

/// A page as it is answered. `total` says whether the length of the list is told.
pub(crate) fn paged<T: ToSchema>(page: &Page, total: bool, item: impl Fn(&Transfer) -> T) -> Paged<T> {
    Paged {
        transactions: page.transfers.iter().map(item).collect(),
        // rows are numbered from 1 without gaps, so there is more exactly if the last one shown is not the first
        next_cursor: page.transfers.last().map(|last| last.number).filter(|number| *number > 1),
        total_count: total.then_some(page.total),
    }
}
