//! A real node and its wallet against an independent reading of its chain: zero differences, through every source,
//! through reorgs, across restarts, and past the coming hard fork.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it should be")]

use mojoscan_tests::lab::{self, Lab};
use mojoscan_tests::recorder::Recorder;
use mojoscan_tests::service::{Service, ServiceOptions};
use mojoscan_tests::trial::{self, Need};
use serde_json::json;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};

fn main() {
    let need = Need { name: "chia-node", missing: lab::missing(), in_ci: true };
    trial::run(
        &need,
        &[
            ("every_source_tells_what_the_node_knows", every_source),
            ("a_chain_past_the_hard_fork_is_read_as_well", past_the_hard_fork),
        ],
    );
}

/// What the wallet does, once it has coins.
const STAGES: [&str; 8] = ["xch", "cat", "did", "nft", "singletons", "offers", "did_moves", "claim"];

/// The height of the hard fork in its test, and how many blocks are farmed to be sure to be past it.
const HARD_FORK: u32 = 17;
const MARGIN: u32 = 16;

fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_mojoscan-service").into()
}

fn options(source: String, folder: &Path, name: &str) -> ServiceOptions {
    let data = folder.join(name);
    ServiceOptions { program: program(), source, network: "simulator0".to_owned(), data, failpoints: None }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Follows a node from its first block through four sources, one of which is down during a reorg; the recording that
/// was made meanwhile is played afterwards.
fn every_source() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = Lab::start(None);
    lab.stage("begin");
    let following = [
        options(lab.node.peer(), folder.path(), "peer"),
        options(lab.node.database(), folder.path(), "database"),
        options(lab.node.rpc(), folder.path(), "rpc"),
    ];
    let mut services: Vec<Service> = following.iter().map(Service::start).collect();
    let recorder = Recorder::start(&program(), &lab.node.peer(), &folder.path().join("chain.recording"));

    lab.run("reorg", json!({ "back": 1, "forward": 1 }));
    for stage in STAGES {
        lab.stage(stage);
    }
    let balances = lab.stage("balances");
    agree(&mut lab, &services, Some(&balances));

    lab.run("reorg", json!({ "back": 3, "forward": 1 }));
    agree(&mut lab, &services, None);

    for service in services.drain(..) {
        service.kill();
    }
    lab.stage("xch");
    lab.run("reorg", json!({ "back": 7, "forward": 1 }));
    services.extend(following.iter().map(Service::start));
    agree(&mut lab, &services, None);

    let recording = format!("recording://{}", recorder.finish().display());
    services.push(Service::start(&options(recording, folder.path(), "recording")));
    agree(&mut lab, &services, None);
    for service in services {
        assert!(service.terminate().success());
    }
}

fn past_the_hard_fork() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = Lab::start(Some(HARD_FORK));
    lab.stage("begin");
    let following = [
        options(lab.node.peer(), folder.path(), "peer"),
        options(lab.node.database(), folder.path(), "database"),
        options(lab.node.rpc(), folder.path(), "rpc"),
    ];
    let services: Vec<Service> = following.iter().map(Service::start).collect();
    lab.run("farm", json!({ "blocks": MARGIN }));
    for stage in STAGES {
        lab.stage(stage);
    }
    agree(&mut lab, &services, None);
    lab.run("reorg", json!({ "back": 5, "forward": 1 }));
    agree(&mut lab, &services, None);
}

/// Waits until every service is at the node's peak, and compares what they say with what is so.
fn agree(lab: &mut Lab, services: &[Service], balances: Option<&RawValue>) {
    let peak = lab.peak();
    for service in services {
        runtime().block_on(service.reach(peak));
        let compared = lab.compare(&service.url, balances);
        assert!(compared["coins"].as_u64().is_some_and(|coins| coins > 100), "{compared}");
    }
}
