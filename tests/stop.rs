//! The service is told to stop while it works: who has begun to ask is answered, and it ends.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use fastrand::Rng;
use mojoscan_domain::address::encode_address;
use mojoscan_domain::{Bytes32, Network};
use mojoscan_tests::branch::Branch;
use mojoscan_tests::node_file::NodeFile;
use mojoscan_tests::recorded::demo_tip;
use mojoscan_tests::service::{Service, ServiceOptions, lines, signal};
use mojoscan_tests::{http, seeds, wait};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How many ask at a time.
const CLIENTS: usize = 16;
/// Longest time between two lines of a log.
const PATIENCE: Duration = Duration::from_secs(60);
/// How soon it ends once it is told twice: before what it waits for could be over.
const AT_ONCE: Duration = Duration::from_secs(20);

fn demo(folder: &Path, failpoints: Option<&str>) -> ServiceOptions {
    ServiceOptions {
        program: env!("CARGO_BIN_EXE_mojoscan-service").into(),
        source: "demo".to_owned(),
        network: "simulator0".to_owned(),
        data: folder.join("data"),
        failpoints: failpoints.map(str::to_owned),
    }
}

/// Asks of another address each time, which is in no cache, until nobody answers any more. Whoever answers does so
/// completely.
async fn ask_on(url: String, answers: Arc<AtomicU64>, mut rng: Rng) {
    let client = http::client();
    loop {
        let mut anybody = [0; 32];
        rng.fill(&mut anybody);
        let anybody = encode_address(Network::Simulator0, Bytes32::new(anybody));
        let Ok(answer) = client.get(format!("{url}/address/balance/{anybody}")).send().await else { return };
        let (status, body) = (answer.status(), answer.text().await.unwrap());
        assert_eq!(status, 200, "{body}");
        answers.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_begun_to_ask_is_answered() {
    let mut rng = Rng::with_seed(seeds::some(1).next().unwrap());
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..5 {
        let service = Service::start(&demo(folder.path(), None));
        service.reach(demo_tip()).await;
        let answers = Arc::<AtomicU64>::default();
        let asking: Vec<_> = (0..CLIENTS)
            .map(|_| tokio::spawn(ask_on(service.url.clone(), Arc::clone(&answers), rng.fork())))
            .collect();
        let many = rng.u64(100..500);
        wait::until("answers", async || (answers.load(Ordering::Relaxed) > many).then_some(())).await;
        assert!(service.terminate().success());
        for one in asking {
            one.await.unwrap();
        }
    }
}

/// A source that has lost a block gives nothing new. Recording it ends by itself, and when it is told to.
#[test]
fn a_recording_that_cannot_go_on_ends() {
    let (folder, mut rng) = (tempfile::tempdir().unwrap(), Rng::with_seed(seeds::some(1).next().unwrap()));
    let file = NodeFile::new(folder.path(), &Branch::of(20, &mut rng).blocks());
    file.lose(7);
    for (quiet_seconds, told, code) in [("1", false, 1), ("600", true, 0)] {
        let out = folder.path().join(quiet_seconds);
        let mut recording = Command::new(demo(folder.path(), None).program)
            .args(["record", "--source", &file.source(), "--network", "simulator0"])
            .args(["--quiet-seconds", quiet_seconds, "--out", out.to_str().unwrap()])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = lines(recording.stderr.take().unwrap());
        let again = |line: &String| line.contains("trying again");
        assert!(std::iter::from_fn(|| log.recv_timeout(PATIENCE).ok()).any(|line| again(&line)));
        if told {
            signal(&recording, "TERM");
        }
        // the log ends with the process
        while log.recv_timeout(PATIENCE).is_ok() {}
        assert_eq!(recording.wait().unwrap().code(), Some(code));
    }
}

/// A gateway that has no settings file to read again goes on.
#[test]
fn a_hangup_ends_nobody() {
    let program = demo(Path::new(""), None).program;
    let arguments = ["gateway", "--network", "simulator0", "--listen", "127.0.0.1:0"];
    let gateway = Service::process(&program, arguments, None).up().unwrap();
    gateway.signal("HUP");
    gateway.logs("there is no settings file to read again: --config names one");
    assert!(gateway.terminate().success());
}

#[test]
fn told_twice_it_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    // longer than it waits when it is told once
    let stuck = demo(folder.path(), Some("address-commit-before=1*sleep(120000)"));
    let mut service = Service::start(&stuck);
    service.signal("TERM");
    service.logs("stopping");
    let told = Instant::now();
    service.signal("TERM");
    service.ended();
    assert!(told.elapsed() < AT_ONCE, "{:?}", told.elapsed());
}
