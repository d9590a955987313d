//! Pages of lists.

use super::views::Views;
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

/// Most bytes of memos in a page.
const PAGE_BYTES_MAX: usize = 2 << 20;

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
        let query = |mut views: Views<S>| {
            let wanted = &wanted;
            async move {
                let mut pages = Vec::with_capacity(wanted.len());
                if !wanted.is_empty() {
                    let lengths = views.of(owner).await?.account(owner).await?.lists;
                    for page in wanted {
                        let total = lengths[page.list as usize];
                        let transfers = read_page(&mut views, owner, page).await?;
                        pages.push(Page { total, transfers });
                    }
                }
                Ok((views, pages))
            }
        };
        let (as_of, pages) = self.read(&[owner], request.at.as_ref(), query).await?;
        Ok(ListTransfersResponse { as_of: Some(as_of), pages })
    }
}

/// Reads a page: as many items as were wanted, or fewer where their memos are long. At least one, if there is one.
async fn read_page<S: AddressStore>(
    views: &mut Views<S>,
    owner: PuzzleHash,
    page: &Wanted,
) -> Result<Vec<Transfer>, ViewError> {
    let items = views.of(owner).await?.items(owner, page.list, page.before, page.count).await?;
    let mut transfers = Vec::with_capacity(items.len());
    let mut bytes = 0;
    for (number, item) in items {
        bytes += item.memos.iter().map(Vec::len).sum::<usize>();
        if bytes > PAGE_BYTES_MAX && !transfers.is_empty() {
            break;
        }
        let party = settled(views, item.party.as_ref()).await?;
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
