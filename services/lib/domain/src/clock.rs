//! Block times as people read them. Inside, a time is whole seconds since 1970-01-01T00:00:00Z.

use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

const FORMAT: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// The last second that can be written: 9999-12-31T23:59:59Z.
const LAST: u64 = 253_402_300_799;

/// Writes a time as `YYYY-MM-DDTHH:mm:ss.sssZ`. A time beyond the year 9999, which no chain can reach honestly, is
/// written as the last second of that year.
pub fn iso8601(seconds: u64) -> String {
    let seconds = i64::try_from(seconds.min(LAST)).unwrap_or(0);
    OffsetDateTime::from_unix_timestamp(seconds)
        .ok()
        .and_then(|time| time.format(FORMAT).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::iso8601;

    #[test]
    fn vectors() {
        assert_eq!(iso8601(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso8601(1_729_668_094), "2024-10-23T07:21:34.000Z");
        assert_eq!(iso8601(951_782_400), "2000-02-29T00:00:00.000Z");
        assert_eq!(iso8601(u64::MAX), "9999-12-31T23:59:59.000Z");
    }
}
