//! Builds complete FullBlocks with valid roots and hashes from spends, so that tests and benchmarks can have long
//! chains, forks and crowded blocks without a node.
//!
//! Proofs of space and time are empty and nothing is signed: the blocks are sound to whoever checks what
//! [`decode`](crate::decode) checks, and to nobody else. A chain is a value: keep a [`Tip`] to fork from it.

use crate::full_block::Block;
use crate::{DecodeError, Events, Limits, decode_generator, verify};
use chia_bls::{G1Element, G2Element};
use chia_consensus::solution_generator::{
    solution_generator, solution_generator_2026, solution_generator_backrefs,
};
use chia_protocol::{
    Bytes32 as ChiaBytes32, ClassgroupElement, Coin as ChiaCoin, Foliage, FoliageBlockData,
    FoliageTransactionBlock, FullBlock, PoolTarget, Program, ProofOfSpace, RewardChainBlock,
    TransactionsInfo, VDFInfo, VDFProof,
};
use chia_traits::Streamable;
use mojoscan_domain::{BlockId, Bytes32, Coin, Network, PuzzleHash};
use sha2::{Digest as _, Sha256};

/// Pool reward of blocks 1 to 5,045,759 in mojos: 7/8 of 2 XCH.
const POOL_REWARD: u64 = 1_750_000_000_000;
/// Farmer reward of the same blocks in mojos, without fees: 1/8 of 2 XCH.
const FARMER_REWARD: u64 = 250_000_000_000;
/// Pool reward of block 0, the prefarm, in mojos.
const PREFARM_POOL: u64 = 18_375_000_000_000_000_000;
/// Farmer reward of block 0 in mojos.
const PREFARM_FARMER: u64 = 2_625_000_000_000_000_000;

/// A coin with the puzzle and the solution that spend it, as serialised CLVM.
#[derive(Debug, Clone)]
pub struct CoinSpend {
    /// The coin.
    pub coin: Coin,
    /// Its puzzle.
    pub puzzle: Vec<u8>,
    /// The solution.
    pub solution: Vec<u8>,
}

/// How a block spells its spends.
#[derive(Debug, Clone, Default)]
pub enum Generator {
    /// There are none.
    #[default]
    None,
    /// A quoted list, as before hard fork 1.
    Plain(Vec<CoinSpend>),
    /// A quoted list with back-references, as wallets' nodes make it today.
    Compressed(Vec<CoinSpend>),
    /// The list alone in the encoding of 2026: a FullBlock of version 1, as since hard fork 2.
    Listed(Vec<CoinSpend>),
    /// A program of any kind.
    Program {
        /// The program.
        program: Vec<u8>,
        /// Heights and generators of the older blocks it refers to.
        references: Vec<(u32, Vec<u8>)>,
    },
}

/// What the next block shall be.
#[derive(Debug, Clone)]
pub struct Draft {
    /// Its spends.
    pub generator: Generator,
    /// Whether it is a transaction block; block 0 always is. Without, the generator must be [`Generator::None`].
    pub transaction: bool,
    /// Who gets the farmer's and the pool's reward.
    pub farmer: PuzzleHash,
    /// Who gets the pool's reward.
    pub pool: PuzzleHash,
    /// Seconds since the block before.
    pub seconds: u64,
    /// What it adds to the chain's weight.
    pub difficulty: u64,
    /// Anything: another salt makes another block of the same content.
    pub salt: u64,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            generator: Generator::None,
            transaction: true,
            farmer: Bytes32::new([0xfa; 32]),
            pool: Bytes32::new([0x90; 32]),
            seconds: 19,
            difficulty: 7,
            salt: 0,
        }
    }
}

/// The end of a chain: what the next block builds on.
#[derive(Debug, Clone)]
pub struct Tip {
    network: Network,
    id: Option<BlockId>,
    weight: u128,
    timestamp: u64,
    transaction_block: Bytes32,
    /// Rewards of the last transaction block and of the blocks since.
    unclaimed: Vec<Coin>,
}

impl Tip {
    /// Before block 0. The chain begins on 2021-03-19T14:00:00Z.
    pub fn genesis(network: Network) -> Self {
        Self {
            network,
            id: None,
            weight: 0,
            timestamp: 1_616_162_400,
            transaction_block: network.genesis_challenge(),
            unclaimed: vec![],
        }
    }

    /// The last block; none before block 0.
    pub const fn id(&self) -> Option<BlockId> {
        self.id
    }

    /// Builds the next block.
    ///
    /// # Errors
    /// [`DecodeError`] if the spends do not run.
    pub fn extend(&self, draft: &Draft) -> Result<(Block, Self), DecodeError> {
        let height = self.id.map_or(0, |id| id.height + 1);
        let transaction = draft.transaction || height == 0;
        let timestamp = self.timestamp + draft.seconds;
        let body = if transaction { Some(Body::new(self, draft, timestamp)?) } else { None };
        let reward_chain_block =
            reward_chain_block(height, self.weight + u128::from(draft.difficulty), transaction);
        let previous = self.id.map_or_else(|| self.network.genesis_challenge(), |id| id.hash);
        let foliage = foliage(previous, draft, &reward_chain_block, body.as_ref());
        let fees = body.as_ref().map_or(0, |body| body.info.fees);
        let block = Block::from(full_block(reward_chain_block, foliage, body));
        let rewards = self.rewards(height, draft, fees);
        let mut next = Self {
            id: Some(block.id()),
            weight: self.weight + u128::from(draft.difficulty),
            timestamp,
            ..self.clone()
        };
        if transaction {
            next.transaction_block = block.id().hash;
            next.unclaimed.clear();
        }
        next.unclaimed.extend(rewards);
        Ok((block, next))
    }

    fn rewards(&self, height: u32, draft: &Draft, fees: u64) -> [Coin; 2] {
        let (pool, farmer) =
            if height == 0 { (PREFARM_POOL, PREFARM_FARMER) } else { (POOL_REWARD, FARMER_REWARD) };
        let parent = |half: usize| {
            let challenge = self.network.genesis_challenge().to_bytes();
            let mut bytes = [0; 32];
            bytes[..16].copy_from_slice(&challenge[half * 16..half * 16 + 16]);
            bytes[28..].copy_from_slice(&height.to_be_bytes());
            Bytes32::new(bytes)
        };
        [
            Coin { parent: parent(0), puzzle_hash: draft.pool, amount: pool },
            Coin { parent: parent(1), puzzle_hash: draft.farmer, amount: farmer + fees },
        ]
    }
}

/// The parts of a transaction block.
struct Body {
    info: TransactionsInfo,
    foliage: FoliageTransactionBlock,
    generator: Option<Vec<u8>>,
    references: Vec<u32>,
    version: u8,
}

impl Body {
    fn new(tip: &Tip, draft: &Draft, timestamp: u64) -> Result<Self, DecodeError> {
        let spelled = Spelled::new(&draft.generator)?;
        let (mut events, cost) = match &spelled.program {
            Some(program) => {
                let (events, effort) = decode_generator(program, &spelled.generators, Limits::default())?;
                (events, effort.clvm_cost)
            }
            None => (Events::default(), 0),
        };
        let fees = fees(&events);
        events.created.splice(0..0, crate::events::assemble(&tip.unclaimed, vec![]).created);
        let (additions, removals) = verify::roots(&events);
        let heights: Vec<u8> = spelled.references.iter().flat_map(|height| height.to_be_bytes()).collect();
        let info = TransactionsInfo {
            generator_root: spelled.program.as_deref().map_or([0; 32], sha256).into(),
            generator_refs_root: if heights.is_empty() { [1; 32] } else { sha256(&heights) }.into(),
            aggregated_signature: G2Element::default(),
            fees,
            cost,
            reward_claims_incorporated: tip.unclaimed.iter().map(chia_coin).collect(),
        };
        let foliage = FoliageTransactionBlock {
            prev_transaction_block_hash: chia(tip.transaction_block),
            timestamp,
            filter_hash: ChiaBytes32::default(),
            additions_root: chia(additions),
            removals_root: chia(removals),
            transactions_info_hash: info.hash().into(),
        };
        let Spelled { program, references, version, .. } = spelled;
        Ok(Self { info, foliage, generator: program, references, version })
    }
}

/// A generator as bytes.
struct Spelled {
    program: Option<Vec<u8>>,
    references: Vec<u32>,
    generators: Vec<Vec<u8>>,
    version: u8,
}

impl Spelled {
    fn new(generator: &Generator) -> Result<Self, DecodeError> {
        let invalid = |error: chia_consensus::error::Error| DecodeError::Generator(error.to_string());
        let plain = |program, version| Self { program, references: vec![], generators: vec![], version };
        Ok(match generator {
            Generator::None => plain(None, 0),
            Generator::Plain(list) => plain(Some(solution_generator(spends(list)).map_err(invalid)?), 0),
            Generator::Compressed(list) => {
                plain(Some(solution_generator_backrefs(spends(list)).map_err(invalid)?), 0)
            }
            Generator::Listed(list) => {
                plain(Some(solution_generator_2026(spends(list)).map_err(invalid)?), 1)
            }
            Generator::Program { program, references } => Self {
                program: Some(program.clone()),
                references: references.iter().map(|(height, _)| *height).collect(),
                generators: references.iter().map(|(_, generator)| generator.clone()).collect(),
                version: 0,
            },
        })
    }
}

/// The spends as the serialisers want them; they write the list backwards, so it is turned round first.
fn spends(list: &[CoinSpend]) -> impl Iterator<Item = (ChiaCoin, &[u8], &[u8])> {
    list.iter().rev().map(|spend| (chia_coin(&spend.coin), &spend.puzzle[..], &spend.solution[..]))
}

/// What the spends take in and do not pay out.
fn fees(events: &Events) -> u64 {
    let spent: u128 = events.spent.iter().map(|spent| u128::from(spent.first.coin.amount)).sum();
    let created: u128 = events.created.iter().map(|created| u128::from(created.coin.amount)).sum();
    u64::try_from(spent.saturating_sub(created)).unwrap_or(u64::MAX)
}

fn reward_chain_block(height: u32, weight: u128, transaction: bool) -> RewardChainBlock {
    let vdf = || VDFInfo::new(ChiaBytes32::default(), 1, ClassgroupElement::default());
    RewardChainBlock {
        weight,
        height,
        total_iters: u128::from(height) * 1_000_000,
        signage_point_index: 0,
        pos_ss_cc_challenge_hash: ChiaBytes32::default(),
        proof_of_space: ProofOfSpace {
            challenge: ChiaBytes32::default(),
            pool_public_key: Some(G1Element::default()),
            pool_contract_puzzle_hash: None,
            plot_public_key: G1Element::default(),
            version: 0,
            plot_index: 0,
            meta_group: 0,
            strength: 0,
            size: 32,
            proof: vec![0x80].into(),
        },
        challenge_chain_sp_vdf: None,
        challenge_chain_sp_signature: G2Element::default(),
        challenge_chain_ip_vdf: vdf(),
        reward_chain_sp_vdf: None,
        reward_chain_sp_signature: G2Element::default(),
        reward_chain_ip_vdf: vdf(),
        infused_challenge_chain_ip_vdf: None,
        header_mmr_root: None,
        is_transaction_block: transaction,
    }
}

fn foliage(previous: Bytes32, draft: &Draft, reward: &RewardChainBlock, body: Option<&Body>) -> Foliage {
    let mut salt = [0; 32];
    salt[24..].copy_from_slice(&draft.salt.to_be_bytes());
    Foliage {
        prev_block_hash: chia(previous),
        reward_block_hash: reward.hash().into(),
        foliage_block_data: FoliageBlockData {
            unfinished_reward_block_hash: reward.get_unfinished().hash().into(),
            pool_target: PoolTarget { puzzle_hash: chia(draft.pool), max_height: 0 },
            pool_signature: Some(G2Element::default()),
            farmer_reward_puzzle_hash: chia(draft.farmer),
            extension_data: salt.into(),
        },
        foliage_block_data_signature: G2Element::default(),
        foliage_transaction_block_hash: body.map(|body| body.foliage.hash().into()),
        foliage_transaction_block_signature: body.map(|_| G2Element::default()),
    }
}

fn full_block(reward_chain_block: RewardChainBlock, foliage: Foliage, body: Option<Body>) -> FullBlock {
    let proof = || VDFProof::new(0, vec![].into(), false);
    let version = body.as_ref().map_or(0, |body| body.version);
    let (mut foliage_block, mut info, mut generator, mut references) = (None, None, None, vec![]);
    if let Some(body) = body {
        foliage_block = Some(body.foliage);
        info = Some(body.info);
        generator = body.generator;
        references = body.references;
    }
    let (program, buffer) =
        if version == 0 { (generator.map(Program::from), None) } else { (None, generator.map(Into::into)) };
    FullBlock {
        finished_sub_slots: vec![],
        reward_chain_block,
        challenge_chain_sp_proof: None,
        challenge_chain_ip_proof: proof(),
        reward_chain_sp_proof: None,
        reward_chain_ip_proof: proof(),
        infused_challenge_chain_ip_proof: None,
        foliage,
        foliage_transaction_block: foliage_block,
        transactions_info: info,
        transactions_generator: program,
        transactions_generator_ref_list: references,
        transactions_generator_buffer: buffer,
        version,
    }
}

fn chia(bytes: Bytes32) -> ChiaBytes32 {
    bytes.to_bytes().into()
}

fn chia_coin(coin: &Coin) -> ChiaCoin {
    ChiaCoin::new(chia(coin.parent), chia(coin.puzzle_hash), coin.amount)
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    /// The puzzle `1`, which returns its solution: anyone can spend it, to anything.
    const ANYONE: &[u8] = &[1];

    fn anyone() -> PuzzleHash {
        Bytes32::new(clvm_utils::tree_hash_atom(&[1]).to_bytes())
    }

    #[test]
    fn built_blocks_decode_through_their_bytes_in_every_encoding() {
        let mut tip = Tip::genesis(Network::Simulator0);
        let draft = Draft { farmer: anyone(), pool: anyone(), ..Draft::default() };
        for transaction in [true, false, true] {
            let (block, next) = tip.extend(&Draft { transaction, ..draft.clone() }).unwrap();
            let decoded = decode(&block, &[], Limits::default()).unwrap();
            assert_eq!(
                decoded.header.previous_hash,
                tip.id().map_or_else(|| tip.network.genesis_challenge(), |id| id.hash)
            );
            assert_eq!(decoded.header.timestamp.is_some(), transaction);
            tip = next;
        }
        let coin = tip.unclaimed[0];
        // ((51 anyone 1000 ("hi")))
        let mut solution = vec![0xff, 0xff, 0x33, 0xff, 0xa0];
        solution.extend_from_slice(anyone().as_slice());
        solution.extend_from_slice(b"\xff\x82\x03\xe8\xff\xff\x82hi\x80\x80\x80");
        let (_, mature) = tip.extend(&draft).unwrap();
        let spends = vec![CoinSpend { coin, puzzle: ANYONE.to_vec(), solution }];
        for generator in [
            Generator::Plain(spends.clone()),
            Generator::Compressed(spends.clone()),
            Generator::Listed(spends),
        ] {
            let (block, _) = mature.extend(&Draft { generator, ..draft.clone() }).unwrap();
            let bytes = block.to_bytes().unwrap();
            let again = Block::from_bytes(&bytes).unwrap();
            let decoded = decode(&again, &[], Limits::default()).unwrap();
            let created = decoded.events.created.last().unwrap();
            assert_eq!((created.coin.amount, created.memos.text()), (1000, Some("hi")));
            assert_eq!(decoded.events.spent[0].first.coin, coin);
            assert_eq!(decoded.header.fees, POOL_REWARD - 1000);
        }
    }

    #[test]
    fn any_changed_byte_of_a_block_is_noticed() {
        let tip = Tip::genesis(Network::Simulator0);
        let (_, tip) = tip.extend(&Draft::default()).unwrap();
        let (block, _) = tip.extend(&Draft::default()).unwrap();
        let bytes = block.to_bytes().unwrap();
        let id = block.id();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            let decoded = Block::from_bytes(&damaged).and_then(|b| decode(&b, &[], Limits::default()));
            // proofs stand outside the header hash; everything else either fails or makes another block
            if let Ok(decoded) = decoded
                && decoded.header.id == id
            {
                assert_eq!(
                    decoded.events,
                    decode(&block, &[], Limits::default()).unwrap().events,
                    "byte {at}"
                );
            }
        }
    }
}
