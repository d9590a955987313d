//! Records the demo: drives a real node through every kind of coin its wallet makes, with offers and reorgs, and picks
//! addresses worth asking about. `make demo` runs it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

use mojoscan_domain::address::encode_address;
use mojoscan_domain::{Bytes32, Network};
use mojoscan_tests::http;
use mojoscan_tests::lab::Lab;
use mojoscan_tests::recorder::Recorder;
use mojoscan_tests::service::{Service, ServiceOptions};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../services/mojoscan/demo");
    let program = env::current_exe().unwrap().with_file_name("mojoscan-service");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("simulator0.recording");

    let mut lab = Lab::start(None);
    lab.stage("begin");
    let recorder = Recorder::start(&program, &lab.node.peer(), &file);
    lab.run("reorg", json!({ "back": 1, "forward": 1 }));
    for stage in ["xch", "cat", "did", "nft", "singletons", "offers", "did_moves", "claim", "xch"] {
        eprintln!("{stage}");
        lab.stage(stage);
    }
    lab.run("reorg", json!({ "back": 2, "forward": 1 }));
    let wallets: BTreeMap<String, Wallet> = serde_json::from_str(lab.stage("balances").get()).unwrap();
    let peak = lab.peak();
    recorder.finish();

    let service = Service::start(&ServiceOptions {
        program,
        source: format!("recording://{}", file.display()),
        network: "simulator0".to_owned(),
        data: folder.path().join("data"),
        failpoints: None,
    });
    service.reach(peak).await;
    lab.compare(&service.url, None);
    let own: Vec<Bytes32> =
        wallets.values().flat_map(|wallet| &wallet.puzzle_hashes).map(|hash| hash.parse().unwrap()).collect();
    let worth = worth_asking(&service.url, &own).await;
    fs::write(demo.join("try.txt"), worth).unwrap();
    fs::copy(&file, demo.join("simulator0.recording")).unwrap();
    eprintln!("recorded {peak}: {} bytes", fs::metadata(&file).unwrap().len());
}

#[derive(Deserialize)]
struct Wallet {
    puzzle_hashes: Vec<String>,
}

/// Requests about the addresses that have most to show, one path a line.
async fn worth_asking(url: &str, owners: &[Bytes32]) -> String {
    let none = (0, String::new());
    let (mut richest, mut busiest, mut tokens, mut nfts) = (none.clone(), none.clone(), none.clone(), none);
    for owner in owners {
        let address = encode_address(Network::Simulator0, *owner);
        let get = async |path: &str| -> Value {
            let url = format!("{url}/address/{path}/{address}");
            http::client().get(url).send().await.unwrap().json().await.unwrap()
        };
        let sent = get("xch-transaction").await["send_transactions"]["total_count"].as_u64().unwrap();
        let held = get("balance").await;
        let cats = held["cat_balance"].as_array().unwrap().len() as u64;
        let images = held["nft_balance"]["count"].as_u64().unwrap();
        // whole XCH: the prefarm is more mojos than a number of JSON may have here
        let xch = held["balance"]["xch"].as_f64().unwrap() as u64;
        for (best, found) in
            [(&mut richest, xch), (&mut busiest, sent), (&mut tokens, cats), (&mut nfts, images)]
        {
            if found > best.0 {
                *best = (found, address.clone());
            }
        }
    }
    let (richest, busiest, tokens, nfts) = (richest.1, busiest.1, tokens.1, nfts.1);
    [
        format!("/address/xch-balance/{richest}"),
        format!("/address/xch-transaction/{busiest}?count=3"),
        format!("/address/token-balance/{tokens}"),
        format!("/address/nft-balance/{nfts}"),
        format!("/address/balance/{tokens},{nfts}"),
        format!("/address/transactions/{nfts}\n"),
    ]
    .join("\n")
}
