//! Values of the domain as CQL knows them.

use mojoscan_domain::Bytes32;
use scylla::deserialize::value::DeserializeValue;
use scylla::deserialize::{DeserializationError, FrameSlice, TypeCheckError};
use scylla::frame::response::result::ColumnType;
use scylla::serialize::SerializationError;
use scylla::serialize::value::SerializeValue;
use scylla::serialize::writers::{CellWriter, WrittenCellProof};
use scylla::value::CqlVarintBorrowed;

/// A number that does not fit its column, or a column that does not fit its number.
#[derive(Debug, thiserror::Error)]
#[error("{0} is out of range")]
struct OutOfRange(String);

/// Thirty-two bytes in a `blob`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub Bytes32);

impl SerializeValue for Hash {
    fn serialize<'b>(
        &self,
        typ: &ColumnType<'_>,
        writer: CellWriter<'b>,
    ) -> Result<WrittenCellProof<'b>, SerializationError> {
        self.0.as_slice().serialize(typ, writer)
    }
}

impl<'frame, 'metadata> DeserializeValue<'frame, 'metadata> for Hash {
    fn type_check(typ: &ColumnType<'_>) -> Result<(), TypeCheckError> {
        <&[u8]>::type_check(typ)
    }

    fn deserialize(
        typ: &'metadata ColumnType<'metadata>,
        value: Option<FrameSlice<'frame>>,
    ) -> Result<Self, DeserializationError> {
        let bytes = <&[u8]>::deserialize(typ, value)?;
        Bytes32::try_from(bytes).map(Self).map_err(DeserializationError::new)
    }
}

/// A height, a count, a sequence number or a time in a `bigint`: up to 2^63 - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u64);

impl Number {
    /// The number, if it is a height.
    ///
    /// # Errors
    /// [`StoreError::Broken`](mojoscan_pipeline::StoreError::Broken) if it is too large for one.
    pub fn height(self) -> Result<u32, mojoscan_pipeline::StoreError> {
        u32::try_from(self.0).map_err(|_| super::damaged(format!("{} is no height", self.0)))
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Self {
        Self(number.into())
    }
}

impl SerializeValue for Number {
    fn serialize<'b>(
        &self,
        typ: &ColumnType<'_>,
        writer: CellWriter<'b>,
    ) -> Result<WrittenCellProof<'b>, SerializationError> {
        let number = i64::try_from(self.0);
        let number = number.map_err(|_| SerializationError::new(OutOfRange(self.0.to_string())))?;
        number.serialize(typ, writer)
    }
}

impl<'frame, 'metadata> DeserializeValue<'frame, 'metadata> for Number {
    fn type_check(typ: &ColumnType<'_>) -> Result<(), TypeCheckError> {
        i64::type_check(typ)
    }

    fn deserialize(
        typ: &'metadata ColumnType<'metadata>,
        value: Option<FrameSlice<'frame>>,
    ) -> Result<Self, DeserializationError> {
        let number = i64::deserialize(typ, value)?;
        let number = u64::try_from(number);
        number.map(Self).map_err(|_| DeserializationError::new(OutOfRange("a negative number".to_owned())))
    }
}

/// An amount in mojos in a `varint`: the whole range of `u128`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(pub u128);

impl SerializeValue for Amount {
    fn serialize<'b>(
        &self,
        typ: &ColumnType<'_>,
        writer: CellWriter<'b>,
    ) -> Result<WrittenCellProof<'b>, SerializationError> {
        // two's complement, as short as can be: a leading zero byte stays only where the next would read as a sign
        let mut bytes = [0; 17];
        bytes[1..].copy_from_slice(&self.0.to_be_bytes());
        let start = (0..16).find(|&i| bytes[i] != 0 || bytes[i + 1] >= 0x80).unwrap_or(16);
        CqlVarintBorrowed::from_signed_bytes_be_slice(&bytes[start..]).serialize(typ, writer)
    }
}

impl<'frame, 'metadata> DeserializeValue<'frame, 'metadata> for Amount {
    fn type_check(typ: &ColumnType<'_>) -> Result<(), TypeCheckError> {
        CqlVarintBorrowed::type_check(typ)
    }

    fn deserialize(
        typ: &'metadata ColumnType<'metadata>,
        value: Option<FrameSlice<'frame>>,
    ) -> Result<Self, DeserializationError> {
        let number = CqlVarintBorrowed::deserialize(typ, value)?;
        amount(number.as_signed_bytes_be_slice())
            .map(Self)
            .ok_or_else(|| DeserializationError::new(OutOfRange("an amount".to_owned())))
    }
}

/// A number in two's complement, if it is not negative and not too large.
fn amount(bytes: &[u8]) -> Option<u128> {
    if bytes.first().is_some_and(|first| *first >= 0x80) {
        return None;
    }
    let significant = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let bytes = &bytes[significant..];
    let start = 16_usize.checked_sub(bytes.len())?;
    let mut whole = [0; 16];
    whole[start..].copy_from_slice(bytes);
    Some(u128::from_be_bytes(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scylla::frame::response::result::NativeType;

    #[test]
    fn amounts_are_minimal_and_come_back() {
        for (number, encoded) in [
            (0, &[0][..]),
            (1, &[1]),
            (0x7f, &[0x7f]),
            (0x80, &[0, 0x80]),
            (0x1_00, &[1, 0]),
            (u128::from(u64::MAX), &[0, 255, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            let mut buffer = vec![];
            let typ = ColumnType::Native(NativeType::Varint);
            Amount(number).serialize(&typ, CellWriter::new(&mut buffer)).unwrap();
            assert_eq!(&buffer[4..], encoded, "{number}");
            assert_eq!(amount(encoded), Some(number));
        }
        assert_eq!(amount(&[[0].as_slice(), &[255; 16]].concat()), Some(u128::MAX));
        assert_eq!(amount(&[255]), None);
        assert_eq!(amount(&[1; 17]), None);
    }
}
