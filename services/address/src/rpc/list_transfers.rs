//! Pages of lists.

use super::{AddressRpc, PAGE_MAX, before, count, owner};
use crate::projection::{Item, List};
use crate::rpc::list_coins::settled;
use crate::store::{AddressStore, AddressView, ViewError};
use mojoscan_domain::PuzzleHash;
use mojoscan_proto::address::v1::{
    self as proto, ListTransfersRequest, ListTransfersResponse, Page, Transfer,
};
use mojoscan_runtime::Code;
use tonic::Status;

/// A page that was asked for.
struct Wanted {
    list: List,
    before: u64,
    count: usize,
}

impl<S: AddressStore> AddressRpc<S> {
    pub(super) async fn transfers(
        &self,
        request: ListTransfersRequest,
    ) -> Result<ListTransfersResponse, Status> {
        let owner = owner(&request.owner)?;
        let wanted = request.pages.iter().map(wanted).collect::<Result<Vec<_>, _>>()?;
        if wanted.len() > List::ALL.len() {
            return Err(Code::InvalidArgument.status("pages: at most one of each list"));
        }
        let shard = self.shard_of(&[owner])?;
        let query = |view: S::View| {
            let wanted = &wanted;
            async move {
                let mut pages = Vec::with_capacity(wanted.len());
                if !wanted.is_empty() {
                    let lengths = view.account(owner).await?.lists;
                    for page in wanted {
                        let total = lengths[page.list as usize];
                        let transfers = read_page(&view, owner, page).await?;
                        pages.push(Page { total, transfers });
                    }
                }
                Ok((view, pages))
            }
        };
        let (as_of, pages) = self.read(shard, request.at.as_ref(), query).await?;
        Ok(ListTransfersResponse { as_of: Some(as_of), pages })
    }
}

async fn read_page(
    view: &impl AddressView,
    owner: PuzzleHash,
    page: &Wanted,
) -> Result<Vec<Transfer>, ViewError> {
    let items = view.items(owner, page.list, page.before, page.count).await?;
    let mut transfers = Vec::with_capacity(items.len());
    for (number, item) in items {
        let party = settled(view, item.party.as_ref()).await?;
        transfers.push(transfer(number, item, party));
    }
    Ok(transfers)
}

fn transfer(number: u64, item: Item, party: Vec<u8>) -> Transfer {
    Transfer {
        number,
        coin_id: item.coin.to_bytes().to_vec(),
        height: item.at.height,
        timestamp: item.at.timestamp,
        amount: item.amount,
        asset_id: item.asset.map(|id| id.to_bytes().to_vec()).unwrap_or_default(),
        party,
        memos: item.memos,
    }
}

fn wanted(page: &proto::PageRequest) -> Result<Wanted, Status> {
    let list = match page.list() {
        proto::List::XchSent => List::XchSent,
        proto::List::XchReceived => List::XchReceived,
        proto::List::DustSent => List::DustSent,
        proto::List::DustReceived => List::DustReceived,
        proto::List::CatSent => List::CatSent,
        proto::List::CatReceived => List::CatReceived,
        proto::List::NftSent => List::NftSent,
        proto::List::NftReceived => List::NftReceived,
        proto::List::Unspecified => return Err(Code::InvalidArgument.status("list: none is named")),
    };
    Ok(Wanted { list, before: before(page.before), count: count(page.count, PAGE_MAX)? })
}
