//! Reads and checks what a request asks for.

use crate::error::{ApiError, ErrorCode};
use mojoscan_domain::{Network, PuzzleHash, address};
use std::borrow::Cow;

/// Parameters that would change an answer and are not served. An answer must never look as if it had honoured one.
const UNSUPPORTED: [&str; 11] = [
    "start_block",
    "end_block",
    "start_timestamp",
    "end_timestamp",
    "include_owned",
    "include_spend",
    "owned_cursor",
    "spent_cursor",
    "period",
    "block",
    "timestamp",
];
/// What mainnet is called.
const MAIN_NAMES: [&str; 2] = ["mainnet", "xch"];
/// What the test network served is called, whichever it is.
const TEST_NAMES: [&str; 7] = ["testnet", "testnet10", "testnet11", "tn10", "txch", "txch11", "simulator0"];
/// Most items of a page.
const COUNT_MAX: u32 = 1_000;
/// Items of a page without `count`.
const COUNT_DEFAULT: u32 = 100;
/// Most addresses in one request.
const ADDRESSES_MAX: usize = 10;

/// The query of a request.
#[derive(Debug, Default)]
pub(crate) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    /// Reads a query, and checks the parameters that every path has.
    pub(crate) fn read(query: Option<&'a str>, network: Network) -> Result<Self, ApiError> {
        let query = Self(url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).collect());
        if let Some((name, _)) = query.0.iter().find(|(name, _)| UNSUPPORTED.contains(&name.as_ref())) {
            return Err(ApiError::bad_request(
                ErrorCode::UnsupportedParameter,
                format!("{name}: not served here; leave it out"),
            ));
        }
        query.network(network)?;
        match query.one("Version")? {
            None | Some("1") => Ok(query),
            Some(_) => {
                Err(ApiError::bad_request(ErrorCode::UnknownVersion, "Version: the only version is 1"))
            }
        }
    }

    /// The value of a parameter, which may be given once.
    fn one(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.0.iter().filter(|(found, _)| found == name).map(|(_, value)| value.as_ref());
        match (values.next(), values.next()) {
            (value, None) => Ok(value),
            _ => Err(invalid(name, "may be given once")),
        }
    }

    fn network(&self, served: Network) -> Result<(), ApiError> {
        let Some(name) = self.one("network")? else { return Ok(()) };
        let names = if served == Network::Mainnet { &MAIN_NAMES[..] } else { &TEST_NAMES[..] };
        if names.contains(&name.to_ascii_lowercase().as_str()) {
            return Ok(());
        }
        let message = format!("network: this deployment serves {served}; {} name it", names.join(", "));
        Err(ApiError::bad_request(ErrorCode::UnknownNetwork, message))
    }

    /// `count`: items of a page.
    pub(crate) fn count(&self) -> Result<u32, ApiError> {
        let Some(text) = self.one("count")? else { return Ok(COUNT_DEFAULT) };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let count = text.parse().ok().filter(|count| digits && (1..=COUNT_MAX).contains(count));
        count.ok_or_else(|| invalid("count", &format!("a number from 1 to {COUNT_MAX}")))
    }

    /// A cursor: 0 stands for the newest.
    pub(crate) fn cursor(&self, name: &str) -> Result<u64, ApiError> {
        match self.one(name)? {
            None | Some("null") => Ok(0),
            Some(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => text
                .parse()
                .map_err(|_| invalid(name, "the number that next_cursor gave, or nothing for the newest")),
            Some(_) => Err(invalid(name, "the number that next_cursor gave, or nothing for the newest")),
        }
    }

    /// A flag.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, ApiError> {
        match self.one(name)?.map(str::to_ascii_lowercase).as_deref() {
            None => Ok(default),
            Some("true" | "1") => Ok(true),
            Some("false" | "0") => Ok(false),
            Some(_) => Err(invalid(name, "true or false")),
        }
    }
}

/// Reads an address of the network.
pub(crate) fn address(network: Network, text: &str) -> Result<PuzzleHash, ApiError> {
    if text.len() > 4 && text.to_ascii_lowercase().ends_with(".xch") {
        let message = "address: .xch names cannot be looked up here at present; give the address";
        return Err(ApiError::unavailable(ErrorCode::NamesUnavailable, message));
    }
    let prefix = network.address_prefix();
    address::decode_address(network, text).map_err(|error| match error {
        address::ParseIdError::Prefix { found, .. } if matches!(found.as_str(), "xch" | "txch") => {
            let message =
                format!("address: this deployment serves {network}, whose addresses begin with {prefix}1");
            ApiError::bad_request(ErrorCode::WrongNetwork, message)
        }
        error => {
            let message = format!("address: {error}; expected an address that begins with {prefix}1");
            ApiError::bad_request(ErrorCode::InvalidAddress, message)
        }
    })
}

/// Reads one address or several, separated by commas. An address given twice counts once.
pub(crate) fn addresses(network: Network, text: &str) -> Result<Vec<PuzzleHash>, ApiError> {
    let mut found: Vec<PuzzleHash> = vec![];
    for part in text.split(',') {
        let owner = address(network, part)?;
        if !found.contains(&owner) {
            found.push(owner);
        }
    }
    if found.len() > ADDRESSES_MAX {
        let message = format!("address: at most {ADDRESSES_MAX} addresses, not {}", found.len());
        return Err(ApiError::bad_request(ErrorCode::TooManyAddresses, message));
    }
    Ok(found)
}

fn invalid(name: &str, allowed: &str) -> ApiError {
    ApiError::bad_request(ErrorCode::InvalidParameter, format!("{name}: {allowed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Query<'_>, ApiError> {
        Query::read(Some(query), Network::Simulator0)
    }

    fn code<T>(result: Result<T, ApiError>) -> String {
        let code = |error: ApiError| serde_json::to_value(error.code).unwrap().as_str().unwrap().to_owned();
        result.err().map_or_else(|| "none".to_owned(), code)
    }

    #[test]
    fn what_every_path_has() {
        for good in [
            "",
            "Version=1",
            "version=0.1.0&authkey=x&type=All",
            "network=TXCH",
            "network=Testnet10",
            "&&=&x",
        ] {
            assert_eq!(code(read(good)), "none", "{good}");
        }
        for (bad, expected) in [
            ("Version=2", "unknown_version"),
            ("Version=1&Version=1", "invalid_parameter"),
            ("network=mainnet", "unknown_network"),
            ("network=aba", "unknown_network"),
            ("network=", "unknown_network"),
            ("start_block=1", "unsupported_parameter"),
            ("a=b&period=", "unsupported_parameter"),
        ] {
            assert_eq!(code(read(bad)), expected, "{bad}");
        }
        assert_eq!(code(Query::read(Some("network=xch"), Network::Mainnet)), "none");
    }

    #[test]
    fn counts_cursors_and_flags() {
        let count = |query: &str| read(query).unwrap().count().ok();
        assert_eq!([count(""), count("count=1"), count("count=1000")], [Some(100), Some(1), Some(1000)]);
        for bad in [
            "count=0",
            "count=1001",
            "count=-1",
            "count=1.0",
            "count=",
            "count=x",
            "count=%2B1",
            "count=1&count=1",
        ] {
            assert_eq!(count(bad), None, "{bad}");
        }
        let cursor = |query: &str| read(query).unwrap().cursor("c").ok();
        assert_eq!(
            [cursor(""), cursor("c=null"), cursor("c=0"), cursor("c=17")],
            [Some(0), Some(0), Some(0), Some(17)]
        );
        for bad in ["c=-1", "c=1.5", "c=x", "c=99999999999999999999", "c=+1", "c=1&c=2"] {
            assert_eq!(cursor(bad), None, "{bad}");
        }
        assert_eq!(cursor("c="), None);
        let flag = |query: &str| read(query).unwrap().flag("f", false).ok();
        assert_eq!([flag(""), flag("f=true"), flag("f=FALSE")], [Some(false), Some(true), Some(false)]);
        assert_eq!([flag("f=yes"), flag("f="), flag("f=true&f=true")], [None, None, None]);
    }

    #[test]
    fn addresses_and_what_is_wrong_with_them() {
        let good = address::encode_address(Network::Simulator0, mojoscan_domain::BURN);
        let other = address::encode_address(Network::Mainnet, mojoscan_domain::BURN);
        let one = |text: &str| address(Network::Simulator0, text);
        assert_eq!(one(&good), Ok(mojoscan_domain::BURN));
        assert_eq!(one(&good.to_uppercase()), Ok(mojoscan_domain::BURN));
        assert_eq!(code(one(&other)), "wrong_network");
        assert_eq!(code(one(&good.replacen('t', "T", 1))), "invalid_address");
        assert_eq!(code(one("Foo.XCH")), "names_unavailable");
        for bad in ["", " ", "txch1", ".xch", "nft1qqq", "\u{0}", "💥", &good[..20]] {
            assert_eq!(code(one(bad)), "invalid_address", "{bad}");
        }
        let several = |text: &str| addresses(Network::Simulator0, text);
        assert_eq!(several(&[good.as_str(); 11].join(",")).unwrap().len(), 1);
        let many = (0..11).map(|n| address::encode_address(Network::Simulator0, [n; 32].into()));
        assert_eq!(code(several(&many.collect::<Vec<_>>().join(","))), "too_many_addresses");
        assert_eq!(code(several(&format!("{good}, {good}"))), "invalid_address");
        assert_eq!(code(several(&format!("{good},"))), "invalid_address");
    }
}
