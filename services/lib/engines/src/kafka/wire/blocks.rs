//! Records of the blocks topic.

use super::{Unreadable, block_id, bytes, bytes32, read_block_id, read_optional_block_id, required};
use mojoscan_domain::{BlockId, Header};
use mojoscan_proto::blocks::v1 as proto;
use mojoscan_proto::blocks::v1::blocks_record::Record as Wire;
use prost::Message;

/// A record, as far as the publisher reads its own records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct BlocksEntry {
    pub(in super::super) epoch: u64,
    pub(in super::super) seq: u64,
    pub(in super::super) block: Block,
}

/// What a record says of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Block {
    /// A block was published, behind this one.
    Applied { id: BlockId, previous: Option<BlockId>, coins_partitions: usize },
    /// The chain ends here again.
    Rewound { to: Option<BlockId> },
}

/// A block was published. `coins_last_seq` has a number for each partition of the coins topic.
pub(in super::super) fn encode_block(
    epoch: u64,
    seq: u64,
    header: &Header,
    coins_last_seq: &[u64],
) -> Vec<u8> {
    let record = Wire::Block(proto::BlockApplied {
        block: Some(block_id(header.id)),
        previous_hash: bytes(header.previous_hash),
        timestamp: header.timestamp,
        weight: header.weight.to_be_bytes().to_vec(),
        total_iterations: header.total_iterations.to_be_bytes().to_vec(),
        fees: header.fees,
        rewards: header.rewards.to_be_bytes().to_vec(),
        cost: header.cost,
        created: header.created,
        spent: header.spent,
        coins_last_seq: coins_last_seq.to_vec(),
    });
    proto::BlocksRecord { epoch, seq, record: Some(record) }.encode_to_vec()
}

/// Everything above a block is void.
pub(in super::super) fn encode_blocks_rewind(epoch: u64, seq: u64, to: Option<BlockId>) -> Vec<u8> {
    let record = Wire::Rewind(proto::Rewind { to: to.map(block_id) });
    proto::BlocksRecord { epoch, seq, record: Some(record) }.encode_to_vec()
}

/// A record as it was published.
pub(in super::super) fn decode_blocks(payload: &[u8]) -> Result<BlocksEntry, Unreadable> {
    let proto::BlocksRecord { epoch, seq, record } = proto::BlocksRecord::decode(payload)?;
    let block = match required(record, "the record's kind")? {
        Wire::Block(block) => {
            let id = read_block_id(&required(block.block, "block")?)?;
            let hash = bytes32(&block.previous_hash, "previous hash")?;
            let previous = id.height.checked_sub(1).map(|height| BlockId { height, hash });
            Block::Applied { id, previous, coins_partitions: block.coins_last_seq.len() }
        }
        Wire::Rewind(rewind) => Block::Rewound { to: read_optional_block_id(rewind.to.as_ref())? },
    };
    Ok(BlocksEntry { epoch, seq, block })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mojoscan_domain::Bytes32;

    fn header(height: u32) -> Header {
        Header {
            id: BlockId { height, hash: Bytes32::new([1; 32]) },
            previous_hash: Bytes32::new([2; 32]),
            timestamp: Some(3),
            weight: u128::MAX,
            total_iterations: 4,
            fees: 5,
            rewards: 6,
            cost: 7,
            created: 8,
            spent: 9,
        }
    }

    #[test]
    fn the_publisher_reads_what_it_wrote() {
        for height in [0, 1] {
            let header = header(height);
            let block = Block::Applied { id: header.id, previous: header.previous(), coins_partitions: 3 };
            let read = decode_blocks(&encode_block(10, 11, &header, &[1, 2, 3])).unwrap();
            assert_eq!(read, BlocksEntry { epoch: 10, seq: 11, block });
        }
        for to in [None, Some(header(5).id)] {
            let read = decode_blocks(&encode_blocks_rewind(10, 11, to)).unwrap();
            assert_eq!(read, BlocksEntry { epoch: 10, seq: 11, block: Block::Rewound { to } });
        }
    }
}
