//! The bech32m ids of the chain: addresses (`xch1…`, `txch1…`), `nft1…`, `did:chia:1…`, `tkn1…`, `txn1…`.
//!
//! Thirty-two bytes behind a human-readable part, with BIP-350's checksum. The separator is the last `1`; at most
//! 90 characters; all lower or all upper case.

use crate::{Bytes32, Network, PuzzleHash};
use bech32::primitives::decode::CheckedHrpstring;
use bech32::{Bech32m, Hrp};

/// Human-readable part of NFT ids (launcher ids).
pub const NFT: &str = "nft";
/// Human-readable part of DIDs (launcher ids).
pub const DID: &str = "did:chia:";
/// Human-readable part of token ids (asset ids).
pub const TOKEN: &str = "tkn";
/// Human-readable part of transaction ids.
pub const TRANSACTION: &str = "txn";

/// Longest id accepted, in characters (BIP-173).
const MAX_LENGTH: usize = 90;

/// Why a text is not the id that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseIdError {
    /// Not bech32m at all, or its checksum is wrong.
    #[error("it is not valid bech32m ({0})")]
    Malformed(String),
    /// Valid bech32m with another human-readable part.
    #[error("it begins with '{found}1', expected '{expected}1'")]
    Prefix {
        /// What the text begins with, in lower case.
        found: String,
        /// What it should have begun with.
        expected: String,
    },
    /// Valid bech32m of another length.
    #[error("it holds {0} bytes, expected 32")]
    Length(usize),
}

/// Writes 32 bytes as a bech32m id.
pub fn encode(prefix: &'static str, bytes: Bytes32) -> String {
    let hrp = Hrp::parse_unchecked(prefix);
    let mut text = String::with_capacity(prefix.len() + 59);
    // cannot fail: writing to a String is infallible, and 32 bytes with these prefixes stay within the length limit
    let written = bech32::encode_lower_to_fmt::<Bech32m, _>(&mut text, hrp, bytes.as_slice());
    debug_assert!(written.is_ok());
    text
}

/// Reads a bech32m id of 32 bytes with the given human-readable part.
///
/// # Errors
/// Says what is wrong: spelling or checksum, the prefix, or the length.
pub fn decode(prefix: &str, text: &str) -> Result<Bytes32, ParseIdError> {
    if text.len() > MAX_LENGTH {
        return Err(ParseIdError::Malformed(format!("longer than {MAX_LENGTH} characters")));
    }
    let parsed =
        CheckedHrpstring::new::<Bech32m>(text).map_err(|error| ParseIdError::Malformed(error.to_string()))?;
    let found = parsed.hrp().to_lowercase();
    if found != prefix {
        return Err(ParseIdError::Prefix { found, expected: prefix.to_owned() });
    }
    let bytes: Vec<u8> = parsed.byte_iter().collect();
    let id = Bytes32::try_from(bytes.as_slice()).map_err(|_| ParseIdError::Length(bytes.len()))?;
    // the last character has four bits more than 32 bytes need
    if parsed.fe32_iter().last().is_some_and(|last| last.to_u8() & 0b1111 != 0) {
        return Err(ParseIdError::Malformed("non-zero padding".to_owned()));
    }
    Ok(id)
}

/// Writes a puzzle hash as an address of the network.
pub fn encode_address(network: Network, puzzle_hash: PuzzleHash) -> String {
    encode(network.address_prefix(), puzzle_hash)
}

/// Reads an address of the network.
///
/// # Errors
/// As [`decode`].
pub fn decode_address(network: Network, text: &str) -> Result<PuzzleHash, ParseIdError> {
    decode(network.address_prefix(), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bech32::Fe32IterExt;

    const VECTORS: [(&str, &str, &str); 9] = [
        (
            NFT,
            "7ff8b187e156c030bdc857a12dcb3910bfcb17be923720b59a9d01dfd8243d8c",
            "nft10lutrplp2mqrp0wg27sjmjeezzluk9a7jgmjpdv6n5qalkpy8kxqrkqag7",
        ),
        (
            NFT,
            "57f455af06d9c4db4658d0a2dfdd6ce365d579f0dd6dec3a23bb2e8e0cbf1cd6",
            "nft12l69ttcxm8zdk3jc6z3dlhtvudja270sm4k7cw3rhvhgur9lrntqly5hag",
        ),
        (
            DID,
            "28131414fed2de3b03cb4b6d851f06492aaa905d9e7aa28ec227c072d839696e",
            "did:chia:19qf3g9876t0rkq7tfdkc28cxfy424yzanea29rkzylq89kped9hq3q7wd2",
        ),
        (
            DID,
            "7ff8b187e156c030bdc857a12dcb3910bfcb17be923720b59a9d01dfd8243d8c",
            "did:chia:10lutrplp2mqrp0wg27sjmjeezzluk9a7jgmjpdv6n5qalkpy8kxqjd0xwd",
        ),
        (
            TOKEN,
            "14b40962dfef81d954ac0d92b51ec21ce7acd8c62dd9fef9303aa51c615cb495",
            "tkn1zj6qjckla7qaj49vpkft28kzrnn6ekxx9hvla7fs82j3cc2ukj2ssa84km",
        ),
        (
            TOKEN,
            "a628c1c2c6fcb74d53746157e438e108eab5c0bb3e5c80ff9b1910b3e4832913",
            "tkn15c5vrskxljm565m5v9t7gw8ppr4tts9m8ewgplumrygt8eyr9yfs56dzc7",
        ),
        (
            "xch",
            "899f69388576188963432fad74488cfcb24fc5f4a92bb39d38aca2930e2fe6bb",
            "xch13x0kjwy9wcvgjc6r97khgjyvljeyl3054y4m88fc4j3fxr30u6asasxq45",
        ),
        (
            "xch",
            "eeb0da50e80404abe2f40adff3ecde15fac4c540a7c8dcbca292c18ddb3f1967",
            "xch1a6cd558gqsz2hch5pt0l8mx7zhavf32q5lyde09zjtqcmkelr9ns59k0j8",
        ),
        (
            "txch",
            "eeb0da50e80404abe2f40adff3ecde15fac4c540a7c8dcbca292c18ddb3f1967",
            "txch1a6cd558gqsz2hch5pt0l8mx7zhavf32q5lyde09zjtqcmkelr9nsez3en5",
        ),
    ];

    #[test]
    fn vectors() {
        for (prefix, hex, text) in VECTORS {
            let bytes: Bytes32 = hex.parse().unwrap();
            assert_eq!(encode(prefix, bytes), text);
            assert_eq!(decode(prefix, text), Ok(bytes));
            assert_eq!(decode(prefix, &text.to_uppercase()), Ok(bytes));
        }
    }

    #[test]
    fn the_burn_address() {
        let burn = "xch1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqm6ks6e8mvy";
        assert_eq!(decode_address(Network::Mainnet, burn), Ok(crate::BURN));
    }

    #[test]
    fn says_what_is_wrong() {
        let good = VECTORS[6].2;
        let mixed = good.replacen('x', "X", 1);
        let checksum = "xch1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqs0wd5zg";
        let letter = "tkn1c2c6fcb74d53746157e438e108eab5c0bb3e5c80ff9b1910b3e4832913";
        for bad in
            ["", "1", "xch1", good.trim_end_matches('5'), &mixed, checksum, letter, &"x".repeat(200), "é1"]
        {
            assert!(matches!(decode("xch", bad), Err(ParseIdError::Malformed(_))), "{bad}");
        }
        assert!(matches!(decode_address(Network::Simulator0, good), Err(ParseIdError::Prefix { .. })));
        let bech32_not_m = "xch1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq8jplnp";
        assert!(decode("xch", bech32_not_m).is_err());
        let short = bech32::encode::<Bech32m>(Hrp::parse("xch").unwrap(), &[1; 31]).unwrap();
        assert_eq!(decode("xch", &short), Err(ParseIdError::Length(31)));
        // one address has one spelling: the bits behind its 32 bytes are zero
        let spelled = |last: u8| {
            let bits = [0; 51].into_iter().chain([last]).map(|bits| bech32::Fe32::try_from(bits).unwrap());
            bits.with_checksum::<Bech32m>(&Hrp::parse("xch").unwrap()).chars().collect::<String>()
        };
        assert_eq!(decode("xch", &spelled(0)), Ok(Bytes32::ZERO));
        for last in 1..16 {
            assert!(matches!(decode("xch", &spelled(last)), Err(ParseIdError::Malformed(_))), "{last}");
        }
    }
}
