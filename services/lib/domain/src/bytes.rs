//! Thirty-two bytes: every hash and every id of the chain.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Thirty-two bytes, written as 64 lower-case hexadecimal digits without `0x`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes32([u8; 32]);

impl Bytes32 {
    /// Thirty-two zero bytes.
    pub const ZERO: Self = Self([0; 32]);

    /// Wraps the bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// The bytes, borrowed.
    pub const fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl From<[u8; 32]> for Bytes32 {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl AsRef<[u8]> for Bytes32 {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A byte string whose length is not 32.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected 32 bytes as 64 hexadecimal digits, got {0}")]
pub struct ParseBytes32Error(String);

impl TryFrom<&[u8]> for Bytes32 {
    type Error = ParseBytes32Error;

    fn try_from(bytes: &[u8]) -> Result<Self, Self::Error> {
        <[u8; 32]>::try_from(bytes).map(Self).map_err(|_| ParseBytes32Error(format!("{} bytes", bytes.len())))
    }
}

impl FromStr for Bytes32 {
    type Err = ParseBytes32Error;

    /// Reads 64 hexadecimal digits of either case, with or without a leading `0x`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes)
            .map_err(|error| ParseBytes32Error(format!("{} characters ({error})", digits.chars().count())))?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for Bytes32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 64];
        // cannot fail: the buffer is exactly twice as long as the bytes
        hex::encode_to_slice(self.0, &mut digits).map_err(|_| fmt::Error)?;
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Bytes32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Bytes32 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes32 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bytes32Visitor)
    }
}

struct Bytes32Visitor;

impl Visitor<'_> for Bytes32Visitor {
    type Value = Bytes32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("32 bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bytes32, E> {
        Bytes32::try_from(bytes).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_what_people_paste() {
        let bytes = Bytes32::new(std::array::from_fn(|i| i as u8 * 7));
        let text = bytes.to_string();
        assert_eq!(text.parse(), Ok(bytes));
        assert_eq!(format!("0x{}", text.to_uppercase()).parse(), Ok(bytes));
    }

    #[test]
    fn refuses_other_lengths_and_other_letters() {
        for bad in ["", "0x", "ab", &"a".repeat(63), &"a".repeat(65), &"g".repeat(64), &"é".repeat(32)] {
            assert!(bad.parse::<Bytes32>().is_err(), "{bad}");
        }
        assert!(Bytes32::try_from(&[0_u8; 31][..]).is_err());
    }
}
