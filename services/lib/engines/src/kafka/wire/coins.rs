//! Records of the coins topic.

use super::{
    Unreadable, asset, block_id, bytes, bytes32, optional_bytes32, read_asset, read_block_id,
    read_optional_block_id, read_transaction, required, transaction,
};
use mojoscan_domain::record::{
    CoinCreated, CoinEvent, CoinSpent, Memos, Output, Place, PuzzleName, Record, Rewind, Sender, Sequenced,
    Tag, Watermark,
};
use mojoscan_domain::{Coin, CoinId};
use mojoscan_proto::coins::v1 as proto;
use mojoscan_proto::coins::v1::coin_event::Event;
use mojoscan_proto::coins::v1::coins_record::Record as Wire;
use prost::Message;

/// A record as it is published. The offset is not part of it.
pub(in super::super) fn encode_coins(epoch: u64, seq: u64, record: &Record<&CoinEvent>) -> Vec<u8> {
    let record = match record {
        Record::Event(place, event) => Wire::Event(proto::CoinEvent {
            block: Some(block_id(place.block)),
            timestamp: place.timestamp,
            index: place.index,
            event: Some(match event {
                CoinEvent::Created(created) => Event::Created(write_created(created)),
                CoinEvent::Spent(spent) => Event::Spent(write_spent(spent)),
            }),
        }),
        Record::Watermark(watermark) => Wire::Watermark(proto::Watermark {
            block: Some(block_id(watermark.block)),
            previous: watermark.previous.map(block_id),
            peak_height: watermark.peak_height,
            heard_at_ms: watermark.heard_at_ms,
        }),
        Record::Rewind(rewind) => Wire::Rewind(proto::Rewind { to: rewind.to.map(block_id) }),
    };
    proto::CoinsRecord { epoch, seq, record: Some(record) }.encode_to_vec()
}

/// A record as it was published.
pub(in super::super) fn decode_coins(
    offset: u64,
    payload: &[u8],
) -> Result<Sequenced<CoinEvent>, Unreadable> {
    let proto::CoinsRecord { epoch, seq, record } = proto::CoinsRecord::decode(payload)?;
    let record = match required(record, "the record's kind")? {
        Wire::Event(event) => {
            let block = read_block_id(&required(event.block, "block")?)?;
            let place = Place { block, timestamp: event.timestamp, index: event.index };
            Record::Event(place, read_event(required(event.event, "the event's kind")?)?)
        }
        Wire::Watermark(watermark) => Record::Watermark(Watermark {
            block: read_block_id(&required(watermark.block, "block")?)?,
            previous: read_optional_block_id(watermark.previous.as_ref())?,
            peak_height: watermark.peak_height,
            heard_at_ms: watermark.heard_at_ms,
        }),
        Wire::Rewind(rewind) => {
            Record::Rewind(Rewind { epoch, to: read_optional_block_id(rewind.to.as_ref())? })
        }
    };
    Ok(Sequenced { epoch, seq, offset, record })
}

fn read_event(event: Event) -> Result<CoinEvent, Unreadable> {
    match event {
        Event::Created(created) => read_created(created).map(CoinEvent::Created),
        Event::Spent(spent) => read_spent(spent).map(CoinEvent::Spent),
    }
}

fn write_coin(id: CoinId, coin: &Coin) -> proto::Coin {
    let (parent, puzzle_hash) = (bytes(coin.parent), bytes(coin.puzzle_hash));
    proto::Coin { id: bytes(id), parent, puzzle_hash, amount: coin.amount }
}

fn read_coin(coin: Option<proto::Coin>) -> Result<(CoinId, Coin), Unreadable> {
    let wire = required(coin, "coin")?;
    let coin = Coin {
        parent: bytes32(&wire.parent, "parent coin")?,
        puzzle_hash: bytes32(&wire.puzzle_hash, "puzzle hash")?,
        amount: wire.amount,
    };
    Ok((bytes32(&wire.id, "coin id")?, coin))
}

fn write_memos(memos: &Memos) -> Option<proto::Memos> {
    let none = memos.items.is_empty() && !memos.truncated;
    (!none).then(|| proto::Memos { items: memos.items.clone(), truncated: memos.truncated })
}

fn read_memos(memos: Option<proto::Memos>) -> Memos {
    memos.map_or_else(Memos::default, |memos| Memos { items: memos.items, truncated: memos.truncated })
}

fn write_created(created: &CoinCreated) -> proto::CoinCreated {
    proto::CoinCreated {
        coin: Some(write_coin(created.id, &created.coin)),
        owner: bytes(created.owner),
        asset: Some(asset(created.asset)),
        memos: write_memos(&created.memos),
        sender: created.sender.as_ref().map(|sender| proto::Sender {
            coin_id: bytes(sender.coin),
            owner: bytes(sender.owner),
            otherwise: sender.otherwise.iter().copied().map(bytes).collect(),
            doubtful: sender.doubtful,
        }),
        transaction: created.transaction.map(transaction),
        passing: created.passing,
    }
}

fn read_created(created: proto::CoinCreated) -> Result<CoinCreated, Unreadable> {
    let (id, coin) = read_coin(created.coin)?;
    Ok(CoinCreated {
        id,
        coin,
        owner: bytes32(&created.owner, "owner")?,
        asset: read_asset(created.asset)?,
        memos: read_memos(created.memos),
        sender: created.sender.as_ref().map(read_sender).transpose()?,
        transaction: created.transaction.as_ref().map(read_transaction).transpose()?,
        passing: created.passing,
    })
}

fn read_sender(sender: &proto::Sender) -> Result<Sender, Unreadable> {
    Ok(Sender {
        coin: bytes32(&sender.coin_id, "the sender's coin id")?,
        owner: bytes32(&sender.owner, "the sender")?,
        otherwise: sender
            .otherwise
            .iter()
            .map(|owner| bytes32(owner, "a possible sender"))
            .collect::<Result<_, _>>()?,
        doubtful: sender.doubtful,
    })
}

fn write_spent(spent: &CoinSpent) -> proto::CoinSpent {
    proto::CoinSpent {
        coin: Some(write_coin(spent.id, &spent.coin)),
        owner: bytes(spent.owner),
        conditional: spent.conditional,
        copy: spent.copy.into(),
        asset: Some(asset(spent.asset)),
        puzzle: spent.puzzle.name().to_owned(),
        transaction: Some(transaction(spent.transaction)),
        // the numbers are the same in both
        tags: spent.tags.iter().map(|tag| i32::from(*tag as u8)).collect(),
        passing: spent.passing,
        outputs: spent.outputs.iter().map(write_output).collect(),
        part: spent.part,
    }
}

fn read_spent(spent: proto::CoinSpent) -> Result<CoinSpent, Unreadable> {
    let (id, coin) = read_coin(spent.coin)?;
    let puzzle = PuzzleName::ALL.iter().find(|puzzle| puzzle.name() == spent.puzzle);
    let copy = u8::try_from(spent.copy).map_err(|_| Unreadable(format!("copy {}", spent.copy)))?;
    Ok(CoinSpent {
        id,
        coin,
        owner: bytes32(&spent.owner, "owner")?,
        conditional: spent.conditional,
        copy,
        asset: read_asset(spent.asset)?,
        // a newer publisher may know more puzzles; the name is only shown
        puzzle: puzzle.copied().unwrap_or(PuzzleName::Unknown),
        transaction: read_transaction(&required(spent.transaction, "transaction")?)?,
        tags: spent.tags.into_iter().map(read_tag).collect::<Result<_, _>>()?,
        passing: spent.passing,
        outputs: spent.outputs.into_iter().map(read_output).collect::<Result<_, _>>()?,
        part: spent.part,
    })
}

fn read_tag(number: i32) -> Result<Tag, Unreadable> {
    let tag = Tag::ALL.into_iter().find(|tag| i32::from(*tag as u8) == number);
    tag.ok_or_else(|| Unreadable(format!("unknown tag {number}")))
}

fn write_output(output: &Output) -> proto::Output {
    proto::Output {
        coin_id: bytes(output.id),
        puzzle_hash: bytes(output.puzzle_hash),
        owner: bytes(output.owner),
        amount: output.amount,
        asset: Some(asset(output.asset)),
        memos: write_memos(&output.memos),
        passing: output.passing,
        via: output.via.map(bytes).unwrap_or_default(),
    }
}

fn read_output(output: proto::Output) -> Result<Output, Unreadable> {
    Ok(Output {
        id: bytes32(&output.coin_id, "the output's coin id")?,
        puzzle_hash: bytes32(&output.puzzle_hash, "the output's puzzle hash")?,
        owner: bytes32(&output.owner, "the output's owner")?,
        amount: output.amount,
        asset: read_asset(output.asset)?,
        memos: read_memos(output.memos),
        passing: output.passing,
        via: optional_bytes32(&output.via, "the settlement coin")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mojoscan_domain::record::{Transaction, TransactionType};
    use mojoscan_domain::{Asset, BlockId, Bytes32, Kind};

    fn hash(byte: u8) -> Bytes32 {
        Bytes32::new([byte; 32])
    }

    fn block(height: u32) -> BlockId {
        BlockId { height, hash: hash(height as u8) }
    }

    fn created() -> CoinCreated {
        CoinCreated {
            id: hash(1),
            coin: Coin { parent: hash(2), puzzle_hash: hash(3), amount: u64::MAX },
            owner: hash(4),
            asset: Asset::new(Kind::Cat, hash(5)),
            memos: Memos { items: vec![vec![], b"memo".to_vec()], truncated: true },
            sender: Some(Sender {
                coin: hash(6),
                owner: hash(7),
                otherwise: vec![hash(8), hash(9)],
                doubtful: true,
            }),
            transaction: Some(Transaction { id: hash(10), kind: TransactionType::Burn }),
            passing: true,
        }
    }

    fn spent(kind: Kind, tag: Tag, puzzle: PuzzleName) -> CoinSpent {
        let output = |via| Output {
            id: hash(11),
            puzzle_hash: hash(12),
            owner: hash(13),
            amount: 0,
            asset: Asset { kind, id: via },
            memos: Memos::default(),
            passing: via.is_none(),
            via,
        };
        CoinSpent {
            id: hash(1),
            coin: Coin { parent: hash(2), puzzle_hash: hash(3), amount: 1 },
            owner: hash(4),
            conditional: true,
            copy: 3,
            asset: Asset::XCH,
            puzzle,
            transaction: Transaction { id: hash(10), kind: TransactionType::Other },
            tags: vec![Tag::Mint, tag],
            passing: false,
            outputs: vec![output(None), output(Some(hash(14)))],
            part: 7,
        }
    }

    fn survives(record: &Record<CoinEvent>) {
        let borrowed = match record {
            Record::Event(place, event) => Record::Event(*place, event),
            Record::Watermark(watermark) => Record::Watermark(*watermark),
            Record::Rewind(rewind) => Record::Rewind(*rewind),
        };
        let read = decode_coins(8, &encode_coins(5, 6, &borrowed)).unwrap();
        assert_eq!(read, Sequenced { epoch: 5, seq: 6, offset: 8, record: record.clone() });
    }

    #[test]
    fn every_record_survives() {
        let place = Place { block: block(9), timestamp: 17, index: 3 };
        let plain = CoinCreated { sender: None, transaction: None, memos: Memos::default(), ..created() };
        for created in [created(), plain] {
            survives(&Record::Event(place, CoinEvent::Created(created)));
        }
        for kind in Kind::ALL {
            survives(&Record::Event(place, CoinEvent::Spent(spent(kind, Tag::Burn, PuzzleName::Cat1))));
        }
        for tag in Tag::ALL {
            survives(&Record::Event(place, CoinEvent::Spent(spent(Kind::Did, tag, PuzzleName::Cat2))));
        }
        for puzzle in PuzzleName::ALL {
            survives(&Record::Event(place, CoinEvent::Spent(spent(Kind::Nft, Tag::Burn, *puzzle))));
        }
        for kind in TransactionType::ALL {
            let transaction = Some(Transaction { id: hash(0), kind });
            survives(&Record::Event(place, CoinEvent::Created(CoinCreated { transaction, ..created() })));
        }
        for previous in [None, Some(block(0))] {
            for heard_at_ms in [None, Some(0)] {
                let (block, peak_height) = (block(200), 300);
                survives(&Record::Watermark(Watermark { block, previous, peak_height, heard_at_ms }));
            }
            survives(&Record::Rewind(Rewind { epoch: 5, to: previous }));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let good = encode_coins(1, 1, &Record::Rewind(Rewind { epoch: 1, to: Some(block(1)) }));
        assert!(decode_coins(0, &good[..good.len() - 1]).is_err());
        assert!(
            decode_coins(0, &proto::CoinsRecord { epoch: 1, seq: 1, record: None }.encode_to_vec()).is_err()
        );
        let mut event = created();
        event.asset.id = None;
        let place = Place { block: block(9), timestamp: 17, index: 3 };
        let mut wire = proto::CoinsRecord::decode(&*encode_coins(
            1,
            1,
            &Record::Event(place, &CoinEvent::Created(event)),
        ))
        .unwrap();
        let Some(Wire::Event(proto::CoinEvent { event: Some(Event::Created(created)), .. })) =
            &mut wire.record
        else {
            panic!("not what was encoded")
        };
        created.asset = Some(mojoscan_proto::common::v1::Asset { kind: 99, id: vec![] });
        assert!(decode_coins(0, &wire.encode_to_vec()).unwrap_err().to_string().contains("unknown kind 99"));
    }
}
