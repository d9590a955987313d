//! The service is told to stop while it works: who has begun to ask is answered, and it ends.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use fastrand::Rng;
use mojoscan_domain::address::encode_address;
use mojoscan_domain::{Bytes32, Network};
use mojoscan_tests::recorded::demo_tip;
use mojoscan_tests::service::{Service, ServiceOptions};
use mojoscan_tests::{http, seeds, wait};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How many ask at a time.
const CLIENTS: usize = 16;
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
