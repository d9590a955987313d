//! NFTs held.

use super::views::Views;
use super::{AddressRpc, NFTS_MAX, count, owners};
use crate::store::{AddressStore, AddressView};
use mojoscan_proto::address::v1::{HeldNft, HeldNfts, ListNftsRequest, ListNftsResponse};
use tonic::Status;

impl<S: AddressStore> AddressRpc<S> {
    pub(super) async fn nfts(&self, request: ListNftsRequest) -> Result<ListNftsResponse, Status> {
        let all = owners(&request.owners)?;
        let count = count(request.count, NFTS_MAX)?;
        let query = |mut views: Views<S>| {
            let all = &all;
            async move {
                let mut owners = Vec::with_capacity(all.len());
                for owner in all {
                    let view = views.of(*owner).await?;
                    let total = view.account(*owner).await?.nfts;
                    let nfts = view.nfts(*owner, count).await?.into_iter().map(|nft| HeldNft {
                        launcher_id: nft.launcher.to_bytes().to_vec(),
                        coin_id: nft.coin.to_bytes().to_vec(),
                        height: nft.height,
                    });
                    owners.push(HeldNfts { total, nfts: nfts.collect() });
                }
                Ok((views, owners))
            }
        };
        let (as_of, owners) = self.read(&all, request.at.as_ref(), query).await?;
        Ok(ListNftsResponse { as_of: Some(as_of), owners })
    }
}
