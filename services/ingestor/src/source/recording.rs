//! A recording: the blocks of a real node in the order in which it told of them, reorgs included.
//!
//! The file is a magic line and then entries: one byte of kind, four bytes of length (big-endian), content.
//!
//! | kind | content |
//! |---|---|
//! | `N` | name of the network; the first entry |
//! | `B` | height (4 bytes, big-endian), header hash, zstd-compressed FullBlock |
//! | `P` | a peak: height, header hash. The blocks since the peak before replace what stood at their heights and above |
//! | `E` | SHA-256 of everything before; the last entry |
//!
//! The whole file is checked before anything of it is given out.

mod format;
mod play;
mod write;

pub use play::Recording;
pub use write::RecordingWriter;
