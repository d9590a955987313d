//! Sums and CAT balances.

use super::views::Views;
use super::{AddressRpc, convert, owners};
use crate::store::{AddressStore, AddressView};
use mojoscan_proto::address::v1::{GetBalancesRequest, GetBalancesResponse};
use tonic::Status;

impl<S: AddressStore> AddressRpc<S> {
    pub(super) async fn balances(&self, request: GetBalancesRequest) -> Result<GetBalancesResponse, Status> {
        let owners = owners(&request.owners)?;
        let query = |mut views: Views<S>| {
            let owners = &owners;
            async move {
                let mut balances = Vec::with_capacity(owners.len());
                for owner in owners {
                    let view = views.of(*owner).await?;
                    let account = view.account(*owner).await?;
                    let cats = if request.cats { view.balances(*owner).await? } else { vec![] };
                    balances.push(convert::balances(&account, &cats));
                }
                Ok((views, balances))
            }
        };
        let (as_of, balances) = self.read(&owners, request.at.as_ref(), query).await?;
        Ok(GetBalancesResponse { as_of: Some(as_of), balances })
    }
}
