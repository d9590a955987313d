//! The processes of a fleet on a real broker and a real store: they agree with a real node, and whatever befalls them,
//! every row afterwards is that of a clean rebuild.
//!
//! `MOJOSCAN_SEED` repeats one seed, `MOJOSCAN_SEEDS` says how many are tried. The chain goes on from seed to seed, so a
//! seed that is repeated alone begins on another chain.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use fastrand::Rng;
use mojoscan_address::store::AddressStore;
use mojoscan_domain::address::encode_address;
use mojoscan_domain::{BlockId, Bytes32, Network};
use mojoscan_tests::branch::Branch;
use mojoscan_tests::collector::Collector;
use mojoscan_tests::engines::free_port;
use mojoscan_tests::fleet::{self, Fleet, KEYSPACE};
use mojoscan_tests::forger::Forger;
use mojoscan_tests::lab::{self, Lab};
use mojoscan_tests::node_file::NodeFile;
use mojoscan_tests::rebuild::{Rebuilder, Rebuilt};
use mojoscan_tests::service::{Service, output};
use mojoscan_tests::trial::{self, Need};
use mojoscan_tests::watcher::Watcher;
use mojoscan_tests::{http, seeds, wait};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

/// Seeds that are tried.
const SEEDS: usize = 5;
/// Longest time until a process is killed.
const LIFE_MAX: Duration = Duration::from_secs(2);
/// How soon it must be said what is wrong.
const SOON: Duration = Duration::from_secs(15);
/// How long something is away.
const AWAY: Duration = Duration::from_secs(30);

fn main() {
    let need = Need { name: "fleet", missing: fleet::missing().or_else(lab::missing), in_ci: true };
    trial::run(
        &need,
        &[
            ("it_agrees_with_a_real_node", || run(real_node())),
            ("a_kill_of_any_process_leaves_no_trace", || run(kills())),
            ("engines_and_processes_may_be_away", || run(away())),
            ("consumers_come_and_go", || run(consumers_come_and_go())),
            ("a_transaction_that_was_left_open_leaves_no_trace", || run(in_a_transaction())),
            ("a_record_of_somebody_else_stops_its_partition", || run(forged())),
            ("the_ingestor_that_came_last_survives", || run(two_ingestors())),
            ("rows_are_rebuilt_and_gone_over_to_without_a_failed_request", || run(replay())),
            ("rows_that_cannot_go_on_are_rebuilt", || run(too_deep())),
            ("a_trace_goes_on_in_the_next_process", || run(traces())),
            ("what_is_wrong_is_said_in_one_line", || run(refusals())),
        ],
    );
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(test);
}

fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_mojoscan-service").into()
}

/// A settings file that names an address service.
fn settings(file: &Path, service: &Service) {
    fs::write(file, format!("address_service = \"{}\"\n", service.url)).unwrap();
}

/// One of each process, up.
struct Processes {
    ingestor: Service,
    address: Service,
    gateway: Service,
    ports: [u16; 2],
    settings: PathBuf,
}

impl Processes {
    fn start(fleet: &Fleet, folder: &Path) -> Self {
        let (ports, file) = ([free_port(), free_port()], folder.join("gateway.toml"));
        let ingestor = fleet.ingestor().up().unwrap();
        let address = fleet.address(KEYSPACE, ports[0]).up().unwrap();
        settings(&file, &address);
        let gateway = fleet.gateway(&file, ports[1]).up().unwrap();
        Self { ingestor, address, gateway, ports, settings: file }
    }
}

async fn real_node() {
    let folder = tempfile::tempdir().unwrap();
    let mut lab = Lab::start(None);
    lab.stage("begin");
    let fleet = Fleet::start(&program(), lab.node.peer()).await;
    let mut processes = Processes::start(&fleet, folder.path());
    for stage in ["xch", "cat", "did", "nft", "singletons", "offers", "did_moves", "claim"] {
        lab.stage(stage);
    }
    let balances = lab.stage("balances");
    agree(&mut lab, &processes.gateway, Some(&balances)).await;
    for (down, back) in [(None, 1), (None, 3), (Some(Down::Ingestor), 7), (Some(Down::Address), 5)] {
        match down {
            None => {}
            Some(Down::Ingestor) => processes.ingestor.kill_now(),
            Some(Down::Address) => processes.address.kill_now(),
        }
        lab.stage("xch");
        lab.run("reorg", json!({ "back": back, "forward": 1 }));
        match down {
            None => {}
            Some(Down::Ingestor) => processes.ingestor = fleet.ingestor().up().unwrap(),
            Some(Down::Address) => {
                processes.address = fleet.address(KEYSPACE, processes.ports[0]).up().unwrap();
            }
        }
        agree(&mut lab, &processes.gateway, None).await;
    }
    let tip = lab.peak();
    // the same node through one process
    let alone = Service::start(&mojoscan_tests::service::ServiceOptions {
        program: program(),
        source: lab.node.peer(),
        network: "simulator0".to_owned(),
        data: folder.path().join("alone"),
        failpoints: None,
    });
    alone.reach(tip).await;
    assert!(alone.terminate().success());
    let data = folder.path().join("alone");
    let alone = output(&program(), &["digest", "--network", "simulator0", "--data", data.to_str().unwrap()]);
    let together = output(&program(), &["digest", "--address-service", &processes.address.url, "--rescan"]);
    assert_eq!(together, alone);
}

/// Which process is down during a reorg.
enum Down {
    Ingestor,
    Address,
}

/// Waits until the gateway is at the node's peak, and compares what it says with what is so.
async fn agree(lab: &mut Lab, gateway: &Service, balances: Option<&RawValue>) {
    gateway.reach(lab.peak()).await;
    let compared = lab.compare(&gateway.url, balances);
    assert!(compared["coins"].as_u64().is_some_and(|coins| coins > 100), "{compared}");
}

/// Each process is killed at a random moment while the chain grows and changes, and started again.
async fn kills() {
    let mut moved = Moved::start(60).await;
    let mut processes = Processes::start(&moved.fleet, moved.folder.path());
    for seed in seeds::some(SEEDS) {
        moved.rng = Rng::with_seed(seed);
        moved.watch().await;
        let mut victims = [0, 1, 2];
        moved.rng.shuffle(&mut victims);
        for victim in victims {
            let depth = moved.rng.usize(0..40);
            moved.reorg(depth).await;
            processes.ingestor.work(LIFE_MAX.mul_f64(moved.rng.f64()));
            match victim {
                0 => std::mem::replace(&mut processes.ingestor, moved.fleet.ingestor()).kill(),
                1 => {
                    processes.address.kill_now();
                    processes.address = moved.fleet.address(KEYSPACE, processes.ports[0]);
                }
                _ => {
                    processes.gateway.kill_now();
                    processes.gateway =
                        moved.fleet.gateway(&processes.settings, processes.ports[1]).up().unwrap();
                }
            }
        }
        moved.compare(&format!("seed {seed}")).await;
        processes.gateway.reach(moved.tip()).await;
        moved.judge().await;
    }
}

/// A chain that the test moves, and the fleet that follows it.
struct Moved {
    folder: tempfile::TempDir,
    file: NodeFile,
    branch: Branch,
    rebuilder: Rebuilder,
    rng: Rng,
    fleet: Fleet,
    /// Every chain there was since the reader was last judged.
    chains: Vec<Rebuilt>,
    watcher: Option<Watcher>,
}

impl Moved {
    async fn start(blocks: usize) -> Self {
        let seed = seeds::some(1).next().unwrap();
        let (folder, mut rng) = (tempfile::tempdir().unwrap(), Rng::with_seed(seed));
        let branch = Branch::of(blocks, &mut rng);
        let file = NodeFile::new(folder.path(), &branch.blocks());
        let fleet = Fleet::start(&program(), file.source()).await;
        let mut rebuilder = Rebuilder::default();
        let chains = vec![rebuilder.rebuild(branch.blocks()).await];
        Self { folder, file, branch, rebuilder, rng, fleet, chains, watcher: None }
    }

    /// Has somebody read all the time from now on.
    async fn watch(&mut self) {
        let store = self.fleet.store(KEYSPACE).await;
        self.watcher = Some(Watcher::start(store, &self.rebuilder.owners, self.rng.fork()));
    }

    /// Compares all that was read meanwhile with the chains that there were.
    async fn judge(&mut self) {
        let chains: Vec<&Rebuilt> = self.chains.iter().collect();
        let told = self.watcher.take().unwrap().judge(&chains).await;
        assert!(told > 100, "only {told} reads");
        // nobody is told of the others any more
        self.chains.drain(..self.chains.len() - 1);
    }

    /// Has the chain leave its present one.
    async fn reorg(&mut self, depth: usize) {
        let blocks = depth + self.rng.usize(1..5);
        self.branch = self.branch.fork(depth, blocks, &mut self.rng);
        self.chains.push(self.rebuilder.rebuild(self.branch.blocks()).await);
        self.file.set(&self.branch.blocks());
    }

    fn tip(&self) -> BlockId {
        self.branch.tip()
    }

    /// Waits until a transaction is open in the log.
    async fn transaction_open(&self) {
        let ends = Ends::of(&self.fleet);
        wait::until("an open transaction", async || ends.are_apart().then_some(())).await;
    }

    /// Waits until none is.
    async fn transaction_over(&self) {
        let ends = Ends::of(&self.fleet);
        wait::until("the transaction to be over", async || (!ends.are_apart()).then_some(())).await;
    }

    async fn compare(&mut self, context: &str) {
        let clean = &self.chains[self.chains.len() - 1];
        self.fleet.compare(KEYSPACE, clean, &self.rebuilder, self.branch.tip(), context).await;
    }
}

/// Where a partition of the log ends, for readers of what is committed and for readers of everything.
struct Ends([BaseConsumer; 2]);

impl Ends {
    fn of(fleet: &Fleet) -> Self {
        Self(["read_committed", "read_uncommitted"].map(|isolation| {
            let mut client = ClientConfig::new();
            client.set("bootstrap.servers", fleet.kafka.address()).set("group.id", "ends");
            client.set("isolation.level", isolation).create().unwrap()
        }))
    }

    /// Whether a transaction is open between the two.
    fn are_apart(&self) -> bool {
        let [committed, all] = [0, 1].map(|number: usize| {
            let ends = self.0[number].fetch_watermarks("simulator0.blocks.v1", 0, SOON);
            ends.unwrap().1
        });
        committed < all
    }
}

/// The broker and the store are killed, the store and each process are paused, and reorgs pass meanwhile.
async fn away() {
    let mut moved = Moved::start(240).await;
    let processes = Processes::start(&moved.fleet, moved.folder.path());
    processes.gateway.reach(moved.tip()).await;
    moved.watch().await;

    moved.fleet.kafka.kill();
    moved.reorg(1).await;
    moved.fleet.kafka.restart().await;
    moved.compare("the broker was killed").await;

    moved.fleet.cassandra.pause();
    moved.reorg(32).await;
    tokio::time::sleep(AWAY).await;
    moved.fleet.cassandra.resume();
    moved.compare("the store was paused").await;

    moved.fleet.cassandra.kill();
    moved.reorg(2).await;
    moved.fleet.cassandra.restart().await;
    moved.compare("the store was killed").await;

    // its partitions move on to another consumer, and are rewound there
    processes.address.signal("STOP");
    let second = moved.fleet.address(KEYSPACE, 0).up().unwrap();
    moved.reorg(200).await;
    tokio::time::sleep(AWAY).await;
    processes.address.signal("CONT");
    moved.compare("a consumer was paused").await;
    assert!(second.terminate().success());

    processes.ingestor.signal("STOP");
    moved.reorg(5).await;
    tokio::time::sleep(AWAY).await;
    processes.ingestor.signal("CONT");
    moved.compare("the ingestor was paused").await;
    processes.gateway.reach(moved.tip()).await;
    moved.judge().await;
}

/// Who ends a transaction that the ingestor has left open.
enum Ended {
    /// The next ingestor, after this one was killed.
    AfterKill,
    /// Another ingestor, while this one stands still.
    Meanwhile,
    /// The broker, which gives it up at last.
    ByTime,
}

/// The ingestor is stopped with a transaction open.
async fn in_a_transaction() {
    let mut moved = Moved::start(240).await;
    let _address = moved.fleet.address(KEYSPACE, 0).up().unwrap();
    let live = moved.fleet.ingestor();
    moved.compare("before").await;
    moved.watch().await;

    // told to end in the middle, it ends behind the batch
    live.kill();
    moved.reorg(8).await;
    let told = moved.fleet.ingestor_with(Some("kafka-commit-before=1*sleep(5000)->off"));
    moved.transaction_open().await;
    assert!(told.terminate().success());
    moved.compare("the ingestor was told to end").await;

    let mut live = moved.fleet.ingestor();
    for (depth, ended) in [(32, Ended::AfterKill), (1, Ended::Meanwhile), (200, Ended::ByTime)] {
        live.kill();
        moved.reorg(depth).await;
        let mut stopped = moved.fleet.ingestor_with(Some("kafka-commit-before=1*sleep(5000)->off"));
        moved.transaction_open().await;
        live = match ended {
            Ended::AfterKill => {
                stopped.kill();
                moved.reorg(depth).await;
                moved.fleet.ingestor()
            }
            Ended::Meanwhile => {
                stopped.signal("STOP");
                moved.reorg(depth).await;
                let other = moved.fleet.ingestor();
                moved.compare("another has taken over").await;
                stopped.signal("CONT");
                assert_eq!(stopped.ended().code(), Some(75));
                other
            }
            Ended::ByTime => {
                stopped.signal("STOP");
                moved.transaction_over().await;
                moved.reorg(depth).await;
                stopped.signal("CONT");
                // it cannot tell this from having been passed
                assert_eq!(stopped.ended().code(), Some(75));
                moved.fleet.ingestor()
            }
        };
        moved.compare("a transaction was left open").await;
    }
    moved.judge().await;
}

/// What the health service of a process says of it.
async fn serves(service: &Service) -> ServingStatus {
    let channel = Endpoint::new(service.url.clone()).unwrap().connect().await.unwrap();
    let answer = HealthClient::new(channel).check(HealthCheckRequest::default()).await.unwrap();
    answer.into_inner().status()
}

/// Records of somebody else stand in the log. The partition stops there, and says where; the others go on.
async fn forged() {
    let mut moved = Moved::start(60).await;
    let _ingestor = moved.fleet.ingestor();
    let address = moved.fleet.address(KEYSPACE, 0).up().unwrap();
    moved.compare("before").await;
    let (store, tip) = (moved.fleet.store(KEYSPACE).await, moved.tip());
    let forger = Forger::new(&moved.fleet.kafka.address(), "simulator0.coins.v1");
    let stops = |partition: u32, offset: u64, reason: &str| {
        let entry = address.logs("partition stopped");
        assert_eq!(entry["topic"], "simulator0.coins.v1", "{entry}");
        assert_eq!(entry["partition"], partition, "{entry}");
        assert_eq!(entry["offset"], offset, "{entry}");
        assert!(entry["reason"].as_str().is_some_and(|told| told.contains(reason)), "{entry}");
    };
    wait::until("the service to serve", async || {
        (serves(&address).await == ServingStatus::Serving).then_some(())
    })
    .await;
    stops(0, forger.put(0, b"\xff\xff not a record").await, "not a record");
    let (at, _) = store.digest(1).await.unwrap();
    // further than what the ingestor may say meanwhile
    stops(1, forger.put_watermark(1, at, at.seq + 1_000).await, "sequence number");
    moved.reorg(3).await;
    wait::until("the last partition to go on", async || {
        let (position, _) = store.digest(2).await.ok()?;
        (position.block == Some(moved.tip())).then_some(())
    })
    .await;
    for partition in [0, 1] {
        assert_eq!(store.digest(partition).await.unwrap().0.block, Some(tip));
    }
    let ready = http::client().get(format!("{}/readyz", address.admin)).send().await.unwrap();
    assert_eq!(ready.status(), 503);
    assert_eq!(serves(&address).await, ServingStatus::NotServing);
    let said = ready.text().await.unwrap();
    assert!(said.contains("simulator0.coins.v1/0") && said.contains("simulator0.coins.v1/1"), "{said}");
}

/// A consumer is added and removed every two seconds while the others catch up and reorgs pass.
async fn consumers_come_and_go() {
    let mut moved = Moved::start(200).await;
    let processes = Processes::start(&moved.fleet, moved.folder.path());
    for round in 0..4 {
        let second = moved.fleet.address(KEYSPACE, 0).up().unwrap();
        moved.reorg(if round == 2 { 150 } else { 3 }).await;
        second.work(Duration::from_secs(2));
        if round % 2 == 0 {
            second.kill()
        } else {
            assert!(second.terminate().success())
        }
        processes.address.work(Duration::from_secs(2));
    }
    moved.compare("consumers came and went").await;
}

async fn two_ingestors() {
    let mut moved = Moved::start(60).await;
    let mut one = moved.fleet.ingestor();
    let mut other = moved.fleet.ingestor();
    let address = moved.fleet.address(KEYSPACE, 0).up().unwrap();
    moved.compare("two ingestors").await;
    for _ in 0..3 {
        moved.reorg(2).await;
        moved.compare("two ingestors").await;
    }
    // exactly one has ended, and said why
    let ended = [one.has_ended(), other.has_ended()];
    let codes: Vec<Option<i32>> = ended.iter().flatten().map(std::process::ExitStatus::code).collect();
    assert_eq!(codes, [Some(75)]);
    assert!(address.terminate().success());
}

/// A projection is rebuilt beside the live one while the chain moves, and the gateway sent there under load.
async fn replay() {
    let mut moved = Moved::start(80).await;
    let processes = Processes::start(&moved.fleet, moved.folder.path());
    processes.gateway.reach(moved.tip()).await;
    let told = moved.fleet.replay("rebuilt", &[]);
    assert_eq!(told.lines().count(), fleet::PARTITIONS as usize, "{told}");
    let rebuilt = moved.fleet.address("rebuilt", 0).up().unwrap();

    let stop = Arc::new(AtomicBool::new(false));
    let asked: Vec<_> = (0..4)
        .map(|_| {
            let (stop, url) = (Arc::clone(&stop), processes.gateway.url.clone());
            let rng = moved.rng.fork();
            tokio::spawn(async move { ask_on(&url, rng, &stop).await })
        })
        .collect();
    moved.reorg(4).await;
    processes.gateway.reach(moved.tip()).await;
    settings(&processes.settings, &rebuilt);
    processes.gateway.signal("HUP");
    processes.gateway.logs("gone over to another address service");
    // nobody is left to ask of the old one
    assert!(processes.address.terminate().success());
    moved.reorg(2).await;
    processes.gateway.reach(moved.tip()).await;
    stop.store(true, Ordering::Relaxed);
    let mut answers = 0;
    for one in asked {
        answers += one.await.unwrap();
    }
    assert!(answers > 100, "only {answers} answers");
    let clean = &moved.chains[moved.chains.len() - 1];
    moved.fleet.compare("rebuilt", clean, &moved.rebuilder, moved.tip(), "the rebuilt keyspace").await;
}

/// The chain changes further back than the rows can be undone: they stop, and are rebuilt from the log.
async fn too_deep() {
    let mut moved = Moved::start(60).await;
    let _ingestor = moved.fleet.ingestor().up().unwrap();
    let stopped = moved.fleet.address_with(KEYSPACE, 0, &["--undo-depth", "32"]).up().unwrap();
    moved.compare("before the reorg").await;
    moved.reorg(40).await;
    for _ in 0..fleet::PARTITIONS {
        let reason = stopped.logs("partition stopped")["reason"].to_string();
        assert!(reason.contains("cannot rewind"), "{reason}");
    }
    let told = moved.fleet.replay("rebuilt", &["--uncompared"]);
    assert_eq!(told.lines().filter(|line| line.ends_with(" uncompared")).count(), fleet::PARTITIONS as usize);
    let rebuilt = moved.fleet.address("rebuilt", 0).up().unwrap();
    let clean = &moved.chains[moved.chains.len() - 1];
    moved.fleet.compare("rebuilt", clean, &moved.rebuilder, moved.tip(), "the rebuilt keyspace").await;
    assert!(rebuilt.terminate().success());
}

/// Asks of another address each time, which is in no cache; fails the test at anything but an answer. Gives how many
/// there were.
async fn ask_on(url: &str, mut rng: Rng, stop: &AtomicBool) -> u64 {
    let (client, mut answers) = (http::client(), 0);
    while !stop.load(Ordering::Relaxed) {
        let mut anybody = [0; 32];
        rng.fill(&mut anybody);
        let anybody = encode_address(Network::Simulator0, Bytes32::new(anybody));
        let answer = client.get(format!("{url}/address/xch-balance/{anybody}")).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
        answers += 1;
    }
    answers
}

/// A request is followed from the gateway into the address service, a batch from the ingestor into the rows.
async fn traces() {
    let mut moved = Moved::start(20).await;
    let collector = Collector::start().await;
    moved.fleet.traces = Some(collector.url.clone());
    let processes = Processes::start(&moved.fleet, moved.folder.path());
    processes.gateway.reach(moved.tip()).await;
    let trace = format!("{:032x}", moved.rng.u128(1..));
    let anybody = encode_address(Network::Simulator0, Bytes32::ZERO);
    let asked = http::client()
        .get(format!("{}/address/transactions/{anybody}", processes.gateway.url))
        .header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"));
    assert_eq!(asked.send().await.unwrap().status(), 200);
    let name = |(service, span): &(String, String)| format!("{service} {span}");
    wait::until("the trace of a request", async || {
        let spans = collector.spans();
        let names: BTreeSet<String> = spans.get(&trace)?.iter().map(name).collect();
        let all = ["mojoscan-gateway request", "mojoscan-address call"];
        all.iter().all(|name| names.contains(*name)).then_some(())
    })
    .await;
    wait::until("the trace of a batch", async || {
        let spans = collector.spans();
        let mut names = spans.values().map(|spans| spans.iter().map(name).collect::<BTreeSet<_>>());
        let all = ["mojoscan-ingestor publish", "mojoscan-address read", "mojoscan-address step"];
        names.any(|names| all.iter().all(|name| names.contains(*name))).then_some(())
    })
    .await;
}

/// Whatever is wrong is one line and exit code 64, soon.
async fn refusals() {
    let fleet = Fleet::start(&program(), "demo".to_owned()).await;
    let (kafka, cql, nobody) =
        (fleet.kafka.address(), fleet.cassandra.address(), format!("127.0.0.1:{}", free_port()));
    let partitions = fleet::PARTITIONS.to_string();
    let broker = ["--kafka", &kafka, "--coins-partitions", &partitions];
    let ours = ["--network", "simulator0"];
    let address = ["address", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let ingestor = ["ingestor", "--source", "demo", "--admin", "127.0.0.1:0"];
    for (arguments, reason) in [
        ([&ingestor[..], &ours, &["--kafka", &nobody]].concat(), nobody.as_str()),
        ([&address[..], &ours, &["--kafka", &nobody, "--cql", &cql]].concat(), nobody.as_str()),
        (
            [&ingestor[..], &ours, &["--kafka", &kafka]].concat(),
            "simulator0.coins.v1 has 3 partitions, not 12",
        ),
        (
            [&address[..], &["--network", "testnet11"], &broker, &["--cql", &cql]].concat(),
            "testnet11.coins.v1 is missing",
        ),
        ([&address[..], &ours, &broker, &["--cql", &nobody]].concat(), nobody.as_str()),
        ([&address[..], &ours, &broker, &["--cql", &cql, "--keyspace", "nowhere"]].concat(), "nowhere"),
        ([&["migrate", "--cql", &nobody][..]].concat(), nobody.as_str()),
        ([&["topics", "ensure", "--kafka", &nobody][..], &ours].concat(), nobody.as_str()),
        ([&["topics", "ensure", "--kafka", &kafka][..], &ours].concat(), "has 3 partitions, not 12"),
    ] {
        refused(&arguments, reason);
    }
    // rows that were made from this log are not filled from another
    let filler = fleet.address(KEYSPACE, 0).up().unwrap();
    assert!(filler.terminate().success());
    let other = mojoscan_tests::engines::Kafka::start().await;
    let other = other.address();
    let there = ["--kafka", &other, "--coins-partitions", &partitions];
    output(&program(), &[&["topics", "ensure"][..], &ours, &there].concat());
    refused(&[&address[..], &ours, &there, &["--cql", &cql]].concat(), "made for");
}

fn refused(arguments: &[&str], reason: &str) {
    let started = Instant::now();
    let ended = Command::new(program()).args(arguments).env("MOJOSCAN_LOG", "off").output();
    let ended = ended.unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(64), "{arguments:?}: {error}");
    assert!(error.lines().count() == 1 && error.contains(reason), "{arguments:?}: {error}");
    assert!(started.elapsed() < SOON, "{arguments:?}: {:?}", started.elapsed());
}
