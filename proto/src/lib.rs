//! The wire: protobuf of the topics and of the services.
//!
//! The `.proto` files beside this crate are the contract; the code below `generated` is made from them and committed,
//! so that nobody needs a protobuf compiler. A test makes it again and compares; `make generate` writes it.

#![allow(clippy::all, reason = "generated code is not held to our lints")]

/// What records and answers have in common.
pub mod common {
    /// Version 1.
    pub mod v1 {
        include!("generated/mojoscan.common.v1.rs");
    }
}

/// The coins topic.
pub mod coins {
    /// Version 1.
    pub mod v1 {
        include!("generated/mojoscan.coins.v1.rs");
    }
}

/// The blocks topic.
pub mod blocks {
    /// Version 1.
    pub mod v1 {
        include!("generated/mojoscan.blocks.v1.rs");
    }
}

/// The address service.
pub mod address {
    /// Version 1.
    pub mod v1 {
        include!("generated/mojoscan.address.v1.rs");
    }
}

/// Descriptors of everything above, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!("generated/descriptors.bin");
