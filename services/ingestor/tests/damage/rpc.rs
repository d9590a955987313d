//! A node that answers badly over its RPC.

use super::node::{Answer, Node, Script, blocks_json, client_files, http, success};
use super::support::{TWICE, chain, ingest, simulated};
use mojoscan_domain::Network;
use mojoscan_ingestor::source::rpc::Rpc;
use mojoscan_ingestor::source::{self, SourceUrl};
use mojoscan_pipeline::{BlockSource, SourceError};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Answers one method badly, and the others well.
fn on(method: &'static str, answer: Answer) -> Script<String> {
    Arc::new(move |_, asked| if asked == method { answer.clone() } else { Answer::Good })
}

async fn connect(node: &Node) -> Result<Rpc, SourceError> {
    let (_folder, cert, key) = client_files();
    Rpc::connect(&node.address, &cert, &key).await
}

fn reason<T>(found: Result<T, SourceError>) -> String {
    found.err().unwrap_or_else(|| panic!("no error")).to_string()
}

/// Ways to answer that are wrong whatever was asked, and what is said of them.
fn nonsense() -> Vec<(&'static str, Answer)> {
    let cut = http("200 OK", &vec![b' '; 4_000])[..900].to_vec();
    vec![
        ("without JSON", Answer::Frame(http("200 OK", b""))),
        ("without JSON", Answer::Frame(http("200 OK", &[0xfe; 300]))),
        ("without JSON", Answer::Frame(http("200 OK", b"{\"success\": tr"))),
        ("502", Answer::Frame(http("502 Bad Gateway", b"<html>no</html>"))),
        ("no success", Answer::Frame(http("200 OK", b"[]"))),
        ("no success", Answer::Frame(http("200 OK", b"{}"))),
        ("not now", Answer::Frame(http("200 OK", b"{\"success\": false, \"error\": \"not now\"}"))),
        ("RPC of", Answer::Frame(b"\0\0this is not HTTP\r\n\r\n".to_vec())),
        ("RPC of", Answer::Cut(cut)),
        ("RPC of", Answer::Cut(vec![])),
    ]
}

#[tokio::test]
async fn bad_answers_are_errors_and_nothing_of_them_is_published() {
    let chain = simulated();
    let fork = super::support::chain(Network::Simulator0, 6, 9);
    let forked = [&chain[..3], &fork[3..]].concat();
    let tip = [&chain[..5], &fork[5..]].concat();
    let mut malformed = blocks_json(&chain);
    malformed["blocks"][3]["foliage"]["prev_block_hash"] = json!("0x00");
    let mut unlike = blocks_json(&chain);
    unlike["blocks"] = json!([1, "two", null]);
    let blocks = |value| Answer::Frame(success(value));
    let mut cases = nonsense();
    cases.extend([
        ("gave no blocks", blocks(json!({}))),
        ("gave no blocks", blocks(json!({ "blocks": null }))),
        ("does not have blocks 0 to 5", blocks(json!({ "blocks": [] }))),
        ("does not have blocks 0 to 5", blocks(blocks_json(&chain[1..]))),
        ("does not have blocks 0 to 5", blocks(blocks_json(&[&chain[..], &chain[2..3]].concat()))),
        ("not a FullBlock", blocks(malformed)),
        ("not a FullBlock", blocks(unlike)),
        ("does not stand on the one before", blocks(blocks_json(&forked))),
        ("does not stand on the one before", blocks(blocks_json(&tip))),
    ]);
    for (expected, answer) in cases {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let script: Script<String> = Arc::new(move |_, method| {
            let blocks = method == "get_blocks";
            counted.fetch_add(usize::from(blocks), Ordering::SeqCst);
            if blocks { answer.clone() } else { Answer::Good }
        });
        let node = Node::rpc(&chain, script).await;
        let source = connect(&node).await.unwrap();
        let outcome = ingest(source, Network::Simulator0, TWICE, chain[5].id).await;
        assert!(outcome.said().contains(expected), "{expected}: {}", outcome.said());
        assert_eq!(outcome.ever, [], "{expected}");
        // it may go better the next time, so it was asked again, and not in a hurry
        let asked = asked.load(Ordering::SeqCst);
        assert!((2..=6).contains(&asked), "{expected}: asked {asked} times");
    }
}

#[tokio::test]
async fn a_peak_that_names_no_block_is_an_error() {
    let chain = simulated();
    let peak = |peak| Answer::Frame(success(json!({ "blockchain_state": { "peak": peak } })));
    let mut cases = nonsense();
    cases.extend([
        ("has no peak yet", peak(json!(null))),
        ("header_hash", peak(json!({}))),
        ("header_hash", peak(json!(7))),
        ("names no block", peak(json!({ "height": 5, "header_hash": "0x1234" }))),
        ("names no block", peak(json!({ "height": -5, "header_hash": chain[5].id.hash.to_string() }))),
        (
            "names no block",
            peak(json!({ "height": 1_u64 << 40, "header_hash": chain[5].id.hash.to_string() })),
        ),
    ]);
    for (expected, answer) in cases {
        let node = Node::rpc(&chain, on("get_blockchain_state", answer)).await;
        let source = connect(&node).await.unwrap();
        let outcome = ingest(source, Network::Simulator0, TWICE, chain[5].id).await;
        assert!(outcome.said().contains(expected), "{expected}: {}", outcome.said());
        assert_eq!(outcome.ever, []);
    }
}

#[tokio::test]
async fn what_is_no_node_of_the_network_is_not_followed() {
    let chain = simulated();
    let network = |name| Answer::Frame(success(json!({ "network_name": name })));
    let mut cases = nonsense();
    cases.extend([("network_name", network(json!(null))), ("dogecoin", network(json!("dogecoin")))]);
    for (expected, answer) in cases {
        let node = Node::rpc(&chain, on("get_network_info", answer)).await;
        let reason = reason(connect(&node).await);
        assert!(reason.contains(expected), "{expected}: {reason}");
    }
    let node = Node::rpc(&chain, on("", Answer::Good)).await;
    let (_folder, certificate, key) = client_files();
    let url =
        SourceUrl::Rpc { address: node.address.clone(), certificate: certificate.clone(), key: key.clone() };
    let refused = reason(source::open(&url, Some(Network::Mainnet), b"").await);
    assert!(refused.contains("carries simulator0, but --network says mainnet"), "{refused}");
    let door = Node::saying(b"SSH-2.0-OpenSSH_9.2\r\n").await;
    assert!(reason(connect(&door).await).contains(&door.address));
    // without a certificate, or with another file for one
    let missing = key.with_extension("gone");
    assert!(reason(Rpc::connect(&node.address, &missing, &key).await).contains("node.gone"));
    let swapped = reason(Rpc::connect(&node.address, &key, &certificate).await);
    assert!(swapped.contains("cannot be read"), "{swapped}");
}

#[tokio::test]
async fn a_node_that_recovers_is_followed() {
    let chain = simulated();
    let answers: Vec<Answer> = nonsense().into_iter().map(|(_, answer)| answer).collect();
    let nth = AtomicUsize::new(0);
    let script: Script<String> = Arc::new(move |_, method| {
        if method != "get_blocks" {
            return Answer::Good;
        }
        // the pauses between attempts grow, so not all of them are tried
        match nth.fetch_add(1, Ordering::SeqCst) {
            first @ 0..3 => answers[first * 3].clone(),
            _ => Answer::Good,
        }
    });
    let node = Node::rpc(&chain, script).await;
    let source = connect(&node).await.unwrap();
    let outcome = ingest(source, Network::Simulator0, Duration::from_secs(60), chain[5].id).await;
    assert_eq!((outcome.error, outcome.published.len()), (None, 6));
}

/// Blocks of another network, from a node that says it is of this one.
#[tokio::test]
async fn blocks_of_another_network_end_the_ingestor() {
    let (simulated, mainnet) = (simulated(), chain(Network::Mainnet, 6, 0));
    let node = Node::rpc(&simulated, on("get_blocks", Answer::Frame(success(blocks_json(&mainnet))))).await;
    let source = connect(&node).await.unwrap();
    let outcome = ingest(source, Network::Simulator0, Duration::from_secs(60), simulated[5].id).await;
    assert!(outcome.said().contains("is not of simulator0"), "{}", outcome.said());
    assert_eq!(outcome.ever, []);
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_cut_off() {
    let chain = simulated();
    let endless = http("200 OK", &vec![b' '; (256 << 20) + 1]);
    let node = Node::rpc(&chain, on("get_blocks", Answer::Frame(endless))).await;
    let source = connect(&node).await.unwrap();
    assert!(reason(source.blocks(0, 5).await).contains("too large"));
}

/// Time is sped up as soon as the node is silent.
#[tokio::test]
async fn silence_has_a_limit() {
    let chain = simulated();
    let node = Node::rpc(&chain, on("get_blocks", Answer::Silence)).await;
    let source = connect(&node).await.unwrap();
    tokio::time::pause();
    let said = reason(source.blocks(0, 5).await);
    assert!(said.contains("timed out"), "{said}");
}
