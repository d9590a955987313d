//! A digest of a set of rows that can grow and shrink.

use crate::Bytes32;
use sha2::{Digest as _, Sha256};
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// The sum, modulo 2^256, of the SHA-256 hashes of rows. The order of rows does not matter, and a row can be taken
/// out again, so two stores hold the same rows exactly if their digests agree. It guards against faults, not against
/// an adversary who can choose rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest(Bytes32);

impl Digest {
    /// The digest of no rows.
    pub const EMPTY: Self = Self(Bytes32::ZERO);

    /// The digest of one row, given as parts. Parts are length-prefixed, so that no two rows run together alike.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(Bytes32::new(hasher.finalize().into()))
    }

    /// The 32 bytes.
    pub const fn to_bytes32(self) -> Bytes32 {
        self.0
    }

    fn limbs(self) -> [u64; 4] {
        let bytes = self.0.to_bytes();
        std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| bytes[i * 8 + j])))
    }

    fn from_limbs(limbs: [u64; 4]) -> Self {
        Self(Bytes32::new(std::array::from_fn(|i| limbs[i / 8].to_le_bytes()[i % 8])))
    }
}

impl From<Bytes32> for Digest {
    fn from(bytes: Bytes32) -> Self {
        Self(bytes)
    }
}

impl Add for Digest {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let mut carry = false;
        let (left, right) = (self.limbs(), other.limbs());
        Self::from_limbs(std::array::from_fn(|i| {
            let (sum, over) = left[i].overflowing_add(right[i]);
            let (sum, over_carry) = sum.overflowing_add(u64::from(carry));
            carry = over || over_carry;
            sum
        }))
    }
}

impl Sub for Digest {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let mut borrow = false;
        let (left, right) = (self.limbs(), other.limbs());
        Self::from_limbs(std::array::from_fn(|i| {
            let (difference, under) = left[i].overflowing_sub(right[i]);
            let (difference, under_borrow) = difference.overflowing_sub(u64::from(borrow));
            borrow = under || under_borrow;
            difference
        }))
    }
}

impl AddAssign for Digest {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Digest {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_and_undo_undoes() {
        let rows: Vec<Digest> = (0..100_u32).map(|i| Digest::of(&[b"row", &i.to_be_bytes()])).collect();
        let forwards = rows.iter().fold(Digest::EMPTY, |sum, row| sum + *row);
        let backwards = rows.iter().rev().fold(Digest::EMPTY, |sum, row| sum + *row);
        assert_eq!(forwards, backwards);
        assert_eq!(rows.iter().fold(forwards, |sum, row| sum - *row), Digest::EMPTY);
        assert_ne!(forwards, forwards - rows[3]);
    }

    #[test]
    fn carries_run_through() {
        let all = Digest(Bytes32::new([0xff; 32]));
        let mut one = [0; 32];
        one[0] = 1;
        assert_eq!(all + Digest(Bytes32::new(one)), Digest::EMPTY);
        assert_eq!(Digest::EMPTY - Digest(Bytes32::new(one)), all);
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(Digest::of(&[b"ab", b"c"]), Digest::of(&[b"a", b"bc"]));
    }
}
