//! FullBlocks: reading them, and what their headers say.

use crate::DecodeError;
use chia_protocol::FullBlock;
use chia_traits::Streamable;
use mojoscan_domain::{BlockId, Bytes32, Coin};
use serde_json::{Map, Value};

/// A block as a node serves it. Reading it checks its shape, not its content.
#[derive(Debug, Clone)]
pub struct Block(FullBlock);

impl Block {
    /// Reads a block from its bytes, version 0 or 1. Points of BLS curves are not checked: the node did.
    ///
    /// # Errors
    /// [`DecodeError::Malformed`] if the bytes are not exactly one FullBlock.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        FullBlock::from_bytes_unchecked(bytes)
            .map(Self)
            .map_err(|error| DecodeError::Malformed(error.to_string()))
    }

    /// Reads a block from JSON as the node's `get_block` gives it, bare or within `{"block": …}`. Keys that older
    /// nodes did not write may be missing.
    ///
    /// # Errors
    /// [`DecodeError::Malformed`] says which field is missing or wrong.
    pub fn from_json(text: &[u8]) -> Result<Self, DecodeError> {
        let value =
            serde_json::from_slice(text).map_err(|error| DecodeError::Malformed(error.to_string()))?;
        Self::from_json_value(value)
    }

    /// As [`Block::from_json`], from parsed JSON.
    ///
    /// # Errors
    /// As [`Block::from_json`].
    pub fn from_json_value(mut value: Value) -> Result<Self, DecodeError> {
        if let Some(block) = value.get_mut("block") {
            value = block.take();
        }
        if let Some(block) = value.as_object_mut() {
            fill_in(block);
        }
        let block: FullBlock =
            serde_json::from_value(value).map_err(|error| DecodeError::Malformed(error.to_string()))?;
        if block.version > 1 {
            return Err(DecodeError::UnknownVersion(block.version));
        }
        Ok(Self(block))
    }

    /// The block's bytes.
    ///
    /// # Errors
    /// [`DecodeError::Malformed`] for a block of an unknown version, which cannot come from [`Block::from_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, DecodeError> {
        self.0.to_bytes().map_err(|error| DecodeError::Malformed(error.to_string()))
    }

    /// Height and header hash.
    pub fn id(&self) -> BlockId {
        BlockId { height: self.0.height(), hash: convert(self.0.header_hash()) }
    }

    /// The header hash of the block before.
    pub fn previous_hash(&self) -> Bytes32 {
        convert(self.0.prev_header_hash())
    }

    /// The heights of the older blocks whose generators this one's generator refers to, in order.
    pub fn references(&self) -> &[u32] {
        &self.0.transactions_generator_ref_list
    }

    /// The generator: the program, or since hard fork 2 the list, that spells the block's spends.
    pub fn generator(&self) -> Option<&[u8]> {
        match self.0.version {
            0 => self.0.transactions_generator.as_ref().map(AsRef::as_ref),
            _ => self.0.transactions_generator_buffer.as_ref().map(AsRef::as_ref),
        }
    }

    /// The reward coins the block pays out.
    pub fn rewards(&self) -> Vec<Coin> {
        let claims = self.0.transactions_info.iter().flat_map(|info| &info.reward_claims_incorporated);
        claims
            .map(|coin| Coin {
                parent: convert(coin.parent_coin_info),
                puzzle_hash: convert(coin.puzzle_hash),
                amount: coin.amount,
            })
            .collect()
    }

    pub(crate) const fn full_block(&self) -> &FullBlock {
        &self.0
    }
}

impl From<FullBlock> for Block {
    fn from(block: FullBlock) -> Self {
        Self(block)
    }
}

pub(crate) fn convert(bytes: chia_protocol::Bytes32) -> Bytes32 {
    Bytes32::new(bytes.to_bytes())
}

/// Adds the keys that blocks of older nodes lack, with the values they stand for.
fn fill_in(block: &mut Map<String, Value>) {
    let mut default = |path: &[&str], key: &str, value: Value| {
        let parent = path.iter().try_fold(&mut *block, |object, key| object.get_mut(*key)?.as_object_mut());
        if let Some(parent) = parent {
            parent.entry(key).or_insert(value);
        }
    };
    default(&[], "version", 0.into());
    default(&[], "transactions_generator_buffer", Value::Null);
    default(&["reward_chain_block"], "header_mmr_root", Value::Null);
    for (key, value) in [("version", 0), ("plot_index", 0), ("meta_group", 0), ("strength", 0)] {
        default(&["reward_chain_block", "proof_of_space"], key, value.into());
    }
}
