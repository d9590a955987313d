//! Keys that sort as they should: fixed widths, big-endian.

use mojoscan_domain::Bytes32;

/// A number turned round, so that ascending keys are descending numbers.
pub const fn newest_first(number: u64) -> u64 {
    u64::MAX - number
}

/// A key, put together part by part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Key(Vec<u8>);

impl Key {
    /// An empty key.
    pub const fn new() -> Self {
        Self(vec![])
    }

    /// Adds 32 bytes.
    #[must_use]
    pub fn hash(mut self, bytes: Bytes32) -> Self {
        self.0.extend_from_slice(bytes.as_slice());
        self
    }

    /// Adds one byte.
    #[must_use]
    pub fn byte(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    /// Adds a height, ascending.
    #[must_use]
    pub fn height(mut self, height: u32) -> Self {
        self.0.extend_from_slice(&height.to_be_bytes());
        self
    }

    /// Adds a height, newest first.
    #[must_use]
    pub fn newest_height(self, height: u32) -> Self {
        self.height(u32::MAX - height)
    }

    /// Adds a number, ascending.
    #[must_use]
    pub fn number(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    /// Adds a number, newest first.
    #[must_use]
    pub fn newest(self, number: u64) -> Self {
        self.number(newest_first(number))
    }

    /// The key's bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Key> for fjall::Slice {
    fn from(key: Key) -> Self {
        key.0.into()
    }
}
