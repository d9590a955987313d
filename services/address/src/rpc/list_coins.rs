//! Coins.

use super::views::Views;
use super::{AddressRpc, PAGE_MAX, before, convert, count, owner};
use crate::projection::{CoinRow, Party};
use crate::store::{AddressStore, AddressView, ViewError};
use mojoscan_proto::address::v1::{Coin, ListCoinsRequest, ListCoinsResponse};
use tonic::Status;

impl<S: AddressStore> AddressRpc<S> {
    pub(super) async fn coins(&self, request: ListCoinsRequest) -> Result<ListCoinsResponse, Status> {
        let owner = owner(&request.owner)?;
        let count = count(request.count, PAGE_MAX)?;
        let before = before(request.before);
        let query = |mut views: Views<S>| async move {
            let view = views.of(owner).await?;
            let total = view.account(owner).await?.coins;
            let cats = view.balances(owner).await?;
            let rows = view.coins(owner, before, count).await?;
            let mut coins = Vec::with_capacity(rows.len());
            for (number, row) in rows {
                let sender = settled(&mut views, row.sender.as_ref()).await?;
                coins.push(coin(number, row, sender));
            }
            Ok((views, (total, coins, convert::cat_balances(&cats))))
        };
        let (as_of, (total, coins, cats)) = self.read(&[owner], request.at.as_ref(), query).await?;
        Ok(ListCoinsResponse { as_of: Some(as_of), total, coins, cats })
    }
}

/// The other side of a payment, for the wire. A guess is settled first: by who holds the coin that paid.
pub(super) async fn settled<S: AddressStore>(
    views: &mut Views<S>,
    party: Option<&Party>,
) -> Result<Vec<u8>, ViewError> {
    let Some(party) = party else { return Ok(vec![]) };
    let mut owner = party.owner;
    if let Some(doubt) = &party.doubt {
        let mut others = doubt.others.iter();
        while !views.of(owner).await?.holds(owner, doubt.coin).await? {
            let Some(other) = others.next() else { break };
            owner = *other;
        }
    }
    Ok(owner.to_bytes().to_vec())
}

fn coin(number: u64, row: CoinRow, sender: Vec<u8>) -> Coin {
    Coin {
        number,
        id: row.id.to_bytes().to_vec(),
        parent: row.parent.to_bytes().to_vec(),
        puzzle_hash: row.puzzle_hash.to_bytes().to_vec(),
        amount: row.amount,
        asset: Some(convert::asset(row.asset)),
        sender,
        memo: row.memo,
        created: Some(convert::moment(row.created)),
        created_by: row.transaction.map(convert::transaction),
        spent: row.spent.map(|spend| convert::moment(spend.at)),
        spent_by: row.spent.map(|spend| convert::transaction(spend.transaction)),
    }
}
