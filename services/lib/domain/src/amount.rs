//! Amounts as people read them. Inside, an amount is always an exact number of mojos.

use std::fmt;

/// Decimal places of XCH: 1 XCH = 10^12 mojos.
pub const XCH_PLACES: u32 = 12;
/// Decimal places of a CAT: 1 token = 1,000 mojos of its coins.
pub const CAT_PLACES: u32 = 3;

/// An exact decimal number: `mojos / 10^places`, written without trailing zeros and never through a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    /// The amount in mojos.
    pub mojos: u128,
    /// How many of its digits stand behind the point, at most 38.
    pub places: u32,
}

/// Mojos as XCH.
pub const fn xch(mojos: u128) -> Decimal {
    Decimal { mojos, places: XCH_PLACES }
}

/// Mojos of a CAT's coins as tokens.
pub const fn cat(mojos: u128) -> Decimal {
    Decimal { mojos, places: CAT_PLACES }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10_u128.pow(self.places);
        let (whole, fraction) = (self.mojos / unit, self.mojos % unit);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        let digits = format!("{fraction:0width$}", width = self.places as usize);
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_and_trimmed() {
        for (mojos, text) in [
            (0, "0"),
            (1, "0.000000000001"),
            (1_234_567_891_234, "1.234567891234"),
            (500_000_000_000, "0.5"),
            (21_000_000_000_000_000_000, "21000000"),
            (u128::from(u64::MAX), "18446744.073709551615"),
            (u128::MAX, "340282366920938463463374607.431768211455"),
        ] {
            assert_eq!(xch(mojos).to_string(), text);
        }
        assert_eq!(cat(12_345).to_string(), "12.345");
        assert_eq!(cat(1_000).to_string(), "1");
        assert_eq!(cat(10).to_string(), "0.01");
    }
}
