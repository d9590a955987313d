//! Which partition a key belongs to.

use crate::Partition;

/// The partition of a key among so many: what Kafka's own clients choose by default, so that others who write or join
/// by the same key meet in the same partition.
pub fn partition_of(key: &[u8], partitions: u32) -> Partition {
    (murmur2(key) & 0x7fff_ffff) % partitions.max(1)
}

/// The 32-bit hash that Kafka's clients use.
fn murmur2(key: &[u8]) -> u32 {
    const MIX: u32 = 0x5bd1_e995;
    // Kafka's keys are far shorter than 4 GiB
    let mut hash = 0x9747_b28c ^ key.len() as u32;
    let words = key.chunks_exact(4);
    let rest = words.remainder();
    for word in words {
        let mut word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(MIX);
        word ^= word >> 24;
        hash = hash.wrapping_mul(MIX) ^ word.wrapping_mul(MIX);
    }
    if !rest.is_empty() {
        for (byte, shift) in rest.iter().zip([0, 8, 16]) {
            hash ^= u32::from(*byte) << shift;
        }
        hash = hash.wrapping_mul(MIX);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MIX);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_kafkas_own_tests() {
        for (key, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key.as_bytes()).cast_signed(), hash, "{key}");
        }
    }

    #[test]
    fn every_partition_is_one_of_them() {
        assert_eq!(partition_of(b"anything", 1), 0);
        assert!((0..=255_u8).all(|byte| partition_of(&[byte; 32], 7) < 7));
        let met: std::collections::BTreeSet<_> = (0..=255_u8).map(|byte| partition_of(&[byte], 7)).collect();
        assert_eq!(met.len(), 7);
    }
}
