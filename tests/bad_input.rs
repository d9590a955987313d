//! Bad input: every request that is wrong is told so, in one shape, and nothing that is sent makes the service fail.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

mod bad_input {
    pub(crate) mod bombs;
    pub(crate) mod raw;
}

use bad_input::raw::{Raw, Reply};
use mojoscan_domain::address::encode_address;
use mojoscan_domain::{Bytes32, Network};
use mojoscan_tests::recorded::demo_tip;
use mojoscan_tests::seeds;
use mojoscan_tests::service::{Service, ServiceOptions};
use serde_json::Value;
use tempfile::TempDir;

/// Paths that are asked about one address.
const SINGLE: [&str; 8] = [
    "cat-balance",
    "nft-balance",
    "nft-transaction",
    "token-balance",
    "token-transaction",
    "transactions",
    "xch-balance",
    "xch-transaction",
];
/// Paths with pages, and the cursors that each has.
const PAGED: [(&str, &[&str]); 3] = [
    ("xch-transaction", &["send_cursor", "received_cursor", "send_dust_cursor", "received_dust_cursor"]),
    ("nft-transaction", &["send_cursor", "received_cursor"]),
    ("token-transaction", &["send_cursor", "received_cursor"]),
];
/// Parameters that would change an answer and are not served.
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
/// Longest request target, in bytes.
const TARGET_MAX: usize = 8 * 1024;
/// Random requests.
const MUTATIONS: usize = 4_000;

/// The service on the bundled recording, and a client of it.
struct Demo {
    raw: Raw,
    /// Whom it is asked about.
    address: String,
    service: Service,
    folder: TempDir,
}

async fn demo() -> Demo {
    let folder = tempfile::tempdir().unwrap();
    let service = start(&folder, "demo");
    service.reach(demo_tip()).await;
    let address = addresses().swap_remove(0);
    Demo { raw: Raw::new(&service.url), address, service, folder }
}

fn start(folder: &TempDir, source: &str) -> Service {
    Service::start(&ServiceOptions {
        program: env!("CARGO_BIN_EXE_mojoscan-service").into(),
        source: source.to_owned(),
        network: "simulator0".to_owned(),
        data: folder.path().join("data"),
        failpoints: None,
    })
}

/// Requests that the bundled recording has something to answer to.
fn worth_asking() -> Vec<String> {
    include_str!("../services/mojoscan/demo/try.txt").lines().map(str::to_owned).collect()
}

/// The addresses in them.
fn addresses() -> Vec<String> {
    let word = |text: char| !text.is_ascii_alphanumeric();
    let targets = worth_asking().join(" ");
    targets.split(word).filter(|part| part.starts_with("txch1")).map(str::to_owned).collect()
}

impl Demo {
    fn one(&mut self, path: &str, address: &str) -> Reply {
        self.raw.get(format!("/address/{path}/{address}"))
    }

    fn with(&mut self, path: &str, query: &str) -> Reply {
        self.raw.get(format!("/address/{path}/{}?{query}", self.address))
    }

    /// The service has come through all of it.
    fn comes_through(mut self) {
        let address = self.address.clone();
        assert_eq!(self.one("xch-balance", &address).answers()["status"], "success");
        assert!(self.service.terminate().success());
    }
}

#[tokio::test]
async fn what_is_no_address_is_refused() {
    let mut demo = demo().await;
    let good = demo.address.clone();
    let mixed = good.replacen('q', "Q", 1);
    let other = encode_address(Network::Mainnet, Bytes32::new([7; 32]));
    let (last, long) = (&good[..good.len() - 1], format!("{good}{}", "q".repeat(4_000)));
    let swapped = format!("{last}{}", if good.ends_with('q') { 'p' } else { 'q' });
    let invalid = [
        "x",
        "txch",
        "txch1",
        "1",
        last,
        &mixed,
        &swapped,
        &long,
        &good[1..],
        &format!("{good}q"),
        &format!("%20{good}"),
        &format!("{good}%20"),
        &format!("{good}%00"),
        &format!("%00{good}"),
        &format!("{good}%0d%0aset-cookie:a"),
        &format!("{good}%2f"),
        &format!("{good}%"),
        &format!("{good}%zz"),
        &format!("{good}%f0%9f%92%a5"),
        &format!("{good};drop"),
        "%00",
        "%ff%fe",
        "%c0%80",
        "..%2f..%2fetc%2fpasswd",
        "xch1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqs0wd5zg",
        "nft10lutrplp2mqrp0wg27sjmjeezzluk9a7jgmjpdv6n5qalkpy8kxqrkqag7",
        "did:chia:19qf3g9876t0rkq7tfdkc28cxfy424yzanea29rkzylq89kped9hq3q7wd2",
        "tkn1zj6qjckla7qaj49vpkft28kzrnn6ekxx9hvla7fs82j3cc2ukj2ssa84km",
        "0x0000000000000000000000000000000000000000000000000000000000000000",
        "null",
    ];
    for path in SINGLE.into_iter().chain(["balance"]) {
        for address in invalid {
            let spaced = path == "balance" && address.contains("%20");
            if spaced {
                continue;
            }
            demo.one(path, address).refuses(400, "invalid_address");
        }
        demo.one(path, &other).refuses(400, "wrong_network");
        demo.one(path, &other.to_uppercase()).refuses(400, "wrong_network");
        demo.one(path, "").refuses(404, "unknown_path");
        // bech32m allows capital letters throughout, and an address need not be known
        let plain = demo.one(path, &good).answers();
        assert_eq!(demo.one(path, &good.to_uppercase()).answers(), plain);
        demo.one(path, &encode_address(Network::Simulator0, Bytes32::new([0xed; 32]))).answers();
    }
    demo.comes_through();
}

#[tokio::test]
async fn several_addresses_are_taken_where_they_have_one_answer() {
    let mut demo = demo().await;
    let good = demo.address.clone();
    let other = encode_address(Network::Mainnet, Bytes32::new([7; 32]));
    let several = |count: u8| {
        let addresses = (0..count).map(|n| encode_address(Network::Simulator0, Bytes32::new([n; 32])));
        addresses.collect::<Vec<_>>().join(",")
    };
    for path in SINGLE {
        demo.one(path, &several(2)).refuses(400, "invalid_address");
    }
    demo.one("balance", &several(10)).answers();
    demo.one("balance", &several(11)).refuses(400, "too_many_addresses");
    demo.one("balance", &several(100)).refuses(400, "too_many_addresses");
    // equal ones count once
    demo.one("balance", &[good.as_str(); 11].join(",")).answers();
    demo.one("balance", &format!("{good},{other}")).refuses(400, "wrong_network");
    for list in
        [",", &format!("{good},"), &format!(",{good}"), &format!("{good},,{good}"), &format!("{good};{good}")]
    {
        demo.one("balance", list).refuses(400, "invalid_address");
    }
    demo.comes_through();
}

#[tokio::test]
async fn parameters_that_are_wrong_are_refused() {
    let mut demo = demo().await;
    for (path, cursors) in PAGED {
        for bad in [
            "0",
            "-1",
            "1001",
            "99999999999999999999",
            "abc",
            "",
            "1.0",
            "1e2",
            "0x10",
            "%2B5",
            "%205",
            "5%00",
            "null",
        ] {
            demo.with(path, &format!("count={bad}")).refuses(400, "invalid_parameter");
        }
        demo.with(path, "count=1&count=1").refuses(400, "invalid_parameter");
        for cursor in cursors {
            let bad = [
                "-1",
                "1.5",
                "abc",
                "",
                "+1",
                "%2B1",
                "%201",
                "1e3",
                "0x1",
                "18446744073709551616",
                "1%00",
                "%EF%BC%91",
                "eyJhIjoxfQ==",
            ];
            for bad in bad {
                demo.with(path, &format!("{cursor}={bad}")).refuses(400, "invalid_parameter");
            }
            demo.with(path, &format!("{cursor}={}", "9".repeat(5_000))).refuses(400, "invalid_parameter");
            demo.with(path, &format!("{cursor}=1&{cursor}=2")).refuses(400, "invalid_parameter");
        }
    }
    for flag in ["include_send", "include_received", "include_send_dust", "include_received_dust"] {
        for bad in ["", "yes", "2", "nope", "truefalse", "%00"] {
            demo.with("xch-transaction", &format!("{flag}={bad}")).refuses(400, "invalid_parameter");
        }
    }
    demo.with("xch-balance", "include_dust=maybe").refuses(400, "invalid_parameter");
    for path in SINGLE.into_iter().chain(["balance"]) {
        for name in UNSUPPORTED {
            demo.with(path, &format!("{name}=1")).refuses(400, "unsupported_parameter");
            demo.with(path, &format!("authkey=x&{name}")).refuses(400, "unsupported_parameter");
        }
        demo.with(path, "Version=2").refuses(400, "unknown_version");
        demo.with(path, "Version=").refuses(400, "unknown_version");
        demo.with(path, "Version=1&Version=1").refuses(400, "invalid_parameter");
        for network in ["mainnet", "xch", "", "dogecoin", "testnet%00"] {
            demo.with(path, &format!("network={network}")).refuses(400, "unknown_network");
        }
        // what old clients send, and what nobody knows, changes nothing
        let plain = demo.with(path, "").answers();
        for ignored in
            ["authkey=a&version=0.1.0&type=All", "Version=1&network=TXCH11", "x=%zz&%00=%ff&=&&&", "COUNT=0"]
        {
            assert_eq!(demo.with(path, ignored).answers(), plain, "{ignored}");
        }
    }
    demo.comes_through();
}

/// A cursor is a number of a row in a list: any number is one, whoever it was given to.
#[tokio::test]
async fn a_cursor_of_another_list_is_only_a_number() {
    let mut demo = demo().await;
    let lists = [("send_cursor", "send_transactions"), ("received_cursor", "received_transactions")];
    let total = |answer: &Value, list: &str| answer[list]["total_count"].as_u64().unwrap();
    for (cursor, list) in lists {
        // somebody whose list is long enough
        for address in addresses() {
            demo.address = address;
            if total(&demo.with("xch-transaction", "").answers(), list) > 3 {
                break;
            }
        }
        let all = demo.with("xch-transaction", "count=1000").answers();
        let (total, all) = (total(&all, list), all[list].clone());
        assert!(total > 3, "{all}");
        for above in [total + 1, total + 9_999, u64::MAX] {
            let page = demo.with("xch-transaction", &format!("count=1000&{cursor}={above}")).answers();
            assert_eq!(page[list]["transactions"], all["transactions"]);
            assert!(page[list]["total_count"].is_null() && page[list]["next_cursor"].is_null());
        }
        for below in 1..=total {
            let page = demo.with("xch-transaction", &format!("count=2&{cursor}={below}")).answers();
            let rows = page[list]["transactions"].as_array().unwrap();
            let skipped = usize::try_from(total - below + 1).unwrap();
            let expected: Vec<_> =
                all["transactions"].as_array().unwrap().iter().skip(skipped).take(2).collect();
            assert_eq!(rows.iter().collect::<Vec<_>>(), expected, "{cursor}={below}");
        }
        // a cursor that a path does not have is nobody's
        let plain = demo.with("xch-balance", "").answers();
        assert_eq!(demo.with("xch-balance", &format!("{cursor}=garbage")).answers(), plain);
    }
    demo.comes_through();
}

#[tokio::test]
async fn targets_and_methods_that_are_wrong_are_refused() {
    let mut demo = demo().await;
    let good = format!("/address/xch-balance/{}", demo.address);
    for path in [
        "/",
        "//",
        "/nope",
        "/address",
        "/address/",
        "/address/xch-balance",
        "/address/xch-balance/",
        "/address/../address",
        "/ADDRESS/xch-balance/x",
        "/address/XCH-BALANCE/x",
        "/address/nope/x",
        "/address//x",
        "/%61ddress%00/x",
        "/..%2f..%2fetc%2fpasswd",
        "/?count=1",
        "/openapi.json/x",
        "/.git/config",
    ] {
        demo.raw.get(path).refuses(404, "unknown_path");
    }
    demo.raw.get(format!("{good}/")).refuses(404, "unknown_path");
    demo.raw.get(format!("/{good}")).refuses(404, "unknown_path");
    for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "FOO", "get"] {
        demo.raw.ask(method, &good, "Content-Length: 0\r\n").refuses(405, "method_not_allowed");
        demo.raw.ask(method, "/openapi.json", "Content-Length: 0\r\n").refuses(405, "method_not_allowed");
        demo.raw.ask(method, "/nope", "Content-Length: 0\r\n").refuses(404, "unknown_path");
    }
    let head = demo.raw.ask("HEAD", &good, "");
    assert_eq!(head.status, 200);
    head.has_what_every_answer_has();
    let asked = "Origin: https://example.org\r\nAccess-Control-Request-Method: GET\r\n";
    for target in [good.as_str(), "/nope"] {
        let options = demo.raw.ask("OPTIONS", target, asked);
        assert_eq!((options.status, options.header("access-control-allow-origin")), (200, Some("*")));
        assert!(options.header("x-request-id").is_some(), "{options:?}");
    }
    // too long for this service, and too long for HTTP
    let padded = |length: usize| format!("{good}?x={}", "a".repeat(length - good.len() - 3));
    demo.raw.get(padded(TARGET_MAX)).answers();
    for length in [TARGET_MAX + 1, 20_000, 65_000] {
        demo.raw.get(padded(length)).refuses(400, "uri_too_long");
        demo.raw.get(format!("/{}", "a".repeat(length))).refuses(400, "uri_too_long");
        let many = vec![demo.address.as_str(); length / demo.address.len()].join(",");
        demo.raw.get(format!("/address/balance/{many}")).refuses(400, "uri_too_long");
    }
    demo.raw.get(padded(70_000)).refuses(400, "uri_too_long");
    for length in [200_000, 2_000_000] {
        demo.raw.get(padded(length)).refuses(400, "head_too_large");
    }
    let many: String = (0..70).map(|n| format!("X-{n}: {n}\r\n")).collect();
    demo.raw.ask("GET", &good, &many).refuses(400, "head_too_large");
    // what is no HTTP is refused before it is a request
    for target in [&b"/address\0/x"[..], b"/a b", b"/\x7f\x01", b"address", b"/<script>", b"", b"/\xff\xfe"] {
        let refused = demo.raw.get(target);
        assert!(matches!(refused.status, 400 | 404), "{refused:?}");
        refused.failure();
    }
    demo.comes_through();
}

/// What was heard of the chain is known again after a restart, also while nothing answers.
#[tokio::test]
async fn a_restart_without_a_source_answers_what_it_answered_before() {
    let mut demo = demo().await;
    let target = format!("/address/xch-balance/{}", demo.address);
    let headers = ["x-as-of-height", "x-as-of-hash", "x-as-of-age", "x-tip-height"];
    let ask = |demo: &mut Demo| {
        let reply = demo.raw.get(&target);
        let headers = headers.map(|name| reply.header(name).map(str::to_owned));
        (reply.answers(), headers)
    };
    let before = ask(&mut demo);
    demo.service.kill_now();
    demo.service = start(&demo.folder, "peer://127.0.0.1:1");
    demo.raw = Raw::new(&demo.service.url);
    demo.service.reach(demo_tip()).await;
    assert_eq!(ask(&mut demo), before);
    demo.comes_through();
}

#[tokio::test]
async fn every_request_has_an_id() {
    let mut demo = demo().await;
    let good = format!("/address/xch-balance/{}", demo.address);
    for target in [good.as_str(), "/nope", "/address/xch-balance/x"] {
        for id in ["abc-123", "x", &"i".repeat(128)] {
            let reply = demo.raw.ask("GET", target, &format!("X-Request-Id: {id}\r\n"));
            assert_eq!(reply.header("x-request-id"), Some(id));
        }
        // one that cannot be echoed is replaced
        for id in ["", "a b", &"i".repeat(129), "caf\u{e9}"] {
            let reply = demo.raw.ask("GET", target, &format!("X-Request-Id: {id}\r\n"));
            let made = reply.header("x-request-id").unwrap();
            assert!(made != id && made.len() == 32, "{made}");
        }
    }
    demo.comes_through();
}

/// Good requests with something changed, by the thousand: answered or refused, and never a failure of the service.
#[tokio::test]
async fn no_request_makes_the_service_fail() {
    let mut demo = demo().await;
    let mut targets = worth_asking();
    targets.extend(SINGLE.map(|path| {
        format!("/address/{path}/{}?count=7&send_cursor=4&include_send_dust=true&network=txch", demo.address)
    }));
    targets.extend(["/openapi.json".to_owned(), "/docs".to_owned()]);
    for seed in seeds::some(1) {
        let rng = &mut fastrand::Rng::with_seed(seed);
        let (mut answered, mut refused) = (0, 0);
        for _ in 0..MUTATIONS {
            let mut target = targets[rng.usize(..targets.len())].clone();
            for _ in 0..rng.usize(1..4) {
                mutate(&mut target, rng);
            }
            let reply = demo.raw.get(&target);
            match reply.status {
                200 => {
                    reply.has_what_every_answer_has();
                    answered += 1;
                }
                400 | 404 => {
                    reply.failure();
                    refused += 1;
                }
                // names cannot be looked up yet
                503 => assert_eq!(reply.failure(), "names_unavailable", "{target}"),
                _ => panic!("{target}: {reply:?}"),
            }
        }
        eprintln!("{answered} answered, {refused} refused");
        assert!(
            answered > MUTATIONS / 50 && refused > MUTATIONS / 4,
            "{answered} answered, {refused} refused"
        );
    }
    demo.comes_through();
}

/// Changes something behind the first character, into what may still stand in a request.
fn mutate(target: &mut String, rng: &mut fastrand::Rng) {
    const MARKS: &[u8] = b"-._~!$&'()*+,;=:@/?%[]|^\\{}";
    const PARTS: [&str; 16] = [
        "%00",
        "%ff",
        "%2F",
        "%20",
        "%",
        "%zz",
        "..",
        "null",
        "-1",
        "18446744073709551616",
        "?",
        "&count=0",
        "&send_cursor=",
        "&network=",
        "&period=1",
        ".xch",
    ];
    let at = rng.usize(1..=target.len());
    let end = rng.usize(at..=target.len().min(at + 12));
    match rng.u8(..8) {
        0 if at < target.len() => {
            target.replace_range(at..=at, &char::from(MARKS[rng.usize(..MARKS.len())]).to_string())
        }
        1 => target.insert(at, rng.alphanumeric()),
        2 => target.insert(at, char::from(MARKS[rng.usize(..MARKS.len())])),
        3 => target.replace_range(at..end, ""),
        4 => {
            let again = target[at..end].repeat(rng.usize(1..40));
            target.insert_str(at, &again);
        }
        5 => target.insert_str(at, PARTS[rng.usize(..PARTS.len())]),
        6 => {
            let swapped = target[at..end].to_ascii_uppercase();
            target.replace_range(at..end, &swapped);
        }
        _ => {
            let encoded: String = target[at..end].bytes().map(|byte| format!("%{byte:02x}")).collect();
            target.replace_range(at..end, &encoded);
        }
    }
}
