//! What the README says a running demo answers and measures is what it answers and measures.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

use mojoscan_domain::BlockId;
use mojoscan_tests::http;
use mojoscan_tests::service::{Service, ServiceOptions, output};
use reqwest::{Method, Response};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

const README: &str = include_str!("../README.md");
/// Where the README lets the service listen.
const LISTEN: &str = "127.0.0.1:8080";

/// The demo, played to its end.
async fn demo() -> (Service, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&ServiceOptions {
        program: program(),
        source: "demo".to_owned(),
        network: "simulator0".to_owned(),
        data: folder.path().join("data"),
        failpoints: None,
    });
    let height = header("x-as-of-height").parse().unwrap();
    service.reach(BlockId { height, hash: header("x-as-of-hash").parse().unwrap() }).await;
    (service, folder)
}

/// What the README shows as a header of its answers.
fn header(name: &str) -> &'static str {
    let named = |line: &'static str| line.strip_prefix(name)?.strip_prefix(": ");
    README.lines().find_map(named).unwrap()
}

async fn get(url: &str) -> String {
    http::client().get(url).send().await.unwrap().text().await.unwrap()
}

/// Requests of the README with the line it shows as their answer.
fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    README.lines().zip(README.lines().skip(1)).filter_map(|(line, next)| {
        let (host, path) = line.strip_prefix("$ curl ")?.trim_matches('\'').split_once('/')?;
        (host == LISTEN).then_some((path, next))
    })
}

#[tokio::test]
async fn requests_have_the_answers_it_shows() {
    let (service, _folder) = demo().await;
    for (path, answer) in examples() {
        let given = http::client().get(format!("{}/{path}", service.url)).send().await.unwrap();
        for name in ["x-as-of-height", "x-as-of-hash", "x-as-of-age", "x-tip-height"] {
            assert_eq!(given.headers().get(name).unwrap(), header(name), "{path}");
        }
        assert_eq!(given.text().await.unwrap(), answer, "{path}");
    }
    assert!(examples().count() > 0);
}

fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_mojoscan-service").into()
}

#[test]
fn settings_are_printed_as_it_shows() {
    let (_, shown) =
        README.split_once("$ mojoscan check-config --listen 0.0.0.0:8080 | head -n 3\n").unwrap();
    let printed = output(&program(), &["check-config", "--listen", "0.0.0.0:8080"]);
    let first = |text: &'static str| text.lines().take(3).collect::<Vec<_>>();
    assert_eq!(printed.lines().take(3).collect::<Vec<_>>(), first(shown));
}

/// Flag, variable, file.
#[test]
fn the_first_that_is_there_counts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    fs::write(&file, "listen = \"127.0.0.1:1\"\nadmin = \"127.0.0.1:1\"\nlag_max = 1\n").unwrap();
    let printed = Command::new(program())
        .args(["check-config", "--listen", "127.0.0.1:3"])
        .env("MOJOSCAN_CONFIG", &file)
        .env("MOJOSCAN_LISTEN", "127.0.0.1:2")
        .env("MOJOSCAN_ADMIN", "127.0.0.1:2")
        .output()
        .unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    for setting in
        ["listen = 127.0.0.1:3  # flag", "admin = 127.0.0.1:2  # environment", "lag_max = 1  # file"]
    {
        assert!(printed.contains(setting), "{setting}: {printed}");
    }
}

/// Name and kind of each measure: the rows of the tables of measures.
fn documented() -> BTreeSet<(String, String)> {
    let (_, rest) = README.split_once("\n### Measures\n").unwrap();
    let section = rest.split("\n## ").next().unwrap();
    let cells = section.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    cells
        .filter_map(|cells| {
            let name = cells.get(1)?.strip_prefix('`')?.strip_suffix('`')?;
            Some((name.to_owned(), (*cells.get(2)?).to_owned()))
        })
        .collect()
}

#[tokio::test]
async fn a_process_measures_what_it_names() {
    let (service, _folder) = demo().await;
    for (path, _) in examples() {
        // once made, once from the cache
        get(&format!("{}/{path}", service.url)).await;
        get(&format!("{}/{path}", service.url)).await;
    }
    let measures = get(&format!("{}/metrics", service.admin)).await;
    let shown: BTreeSet<(String, String)> = measures
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .map(|(name, kind)| (name.to_owned(), kind.to_owned()))
        .filter(|(name, _)| name != "target_info")
        .collect();
    assert_eq!(documented(), shown);
}

/// Every origin is given the same answer, so that caches can share it.
#[tokio::test]
async fn answers_vary_with_nothing() {
    let (service, _folder) = demo().await;
    let (path, _) = examples().next().unwrap();
    let send = async |method: Method| -> Response {
        let request = http::client().request(method, format!("{}/{path}", service.url));
        let request = request.header("origin", "http://elsewhere.example");
        request.header("access-control-request-method", "GET").send().await.unwrap()
    };
    for method in [Method::GET, Method::OPTIONS] {
        let headers = send(method.clone()).await.headers().clone();
        assert_eq!(headers.get("access-control-allow-origin").unwrap(), "*", "{method}");
        assert_eq!(headers.get("vary"), None, "{method}");
    }
}
