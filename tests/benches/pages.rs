//! A page and a balance of an address with a million coins against one with two hundred, and both against what a real
//! node's RPC says of the same coins.
//!
//! The service runs in this process, and is asked over HTTP. Before every turn the chain grows by an empty block, so
//! that no answer is cached. The node's table of coins is filled with the same rows; its RPC has no pages, so that it is
//! asked for the coins of the block that is the page. What a client does with an answer is not counted.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark ends where something is not as it should be"
)]

mod rich;

use fastrand::Rng;
use mojoscan::{Standalone, StandaloneConfig};
use mojoscan_address::store::{AddressStore, AddressView};
use mojoscan_domain::address::encode_address;
use mojoscan_domain::{BlockId, Bytes32, Network, PuzzleHash};
use mojoscan_runtime::Registry;
use mojoscan_tests::bench::{Bench, median};
use mojoscan_tests::chain::Chain;
use mojoscan_tests::lab::{self, Lab};
use mojoscan_tests::{http, wait};
use rich::{FEW, MANY, PAGE, Rich};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Turns; the first ones warm up.
const ROUNDS: usize = 60;
const WARM: usize = 10;
/// Turns of what reads straight from the store.
const READS: usize = 400;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(run());
}

async fn run() {
    let mut bench = Bench::new("pages");
    let mut rich = Rich::new();
    let service = Served::start(&rich).await;
    let [many, few] = [rich.many, rich.few];
    let mut took = Took::default();
    let mut rng = Rng::with_seed(7);
    for round in 0..ROUNDS {
        rich.grow();
        service.reach(&rich).await;
        let turn = if round % 2 == 0 { [many, few] } else { [few, many] };
        for owner in turn {
            let coins = if owner == many { MANY } else { FEW };
            let deep = rng.usize(PAGE + 1..coins);
            let times = service.ask(owner, deep).await;
            if round >= WARM {
                took.of(owner == many).add(times);
            }
        }
    }
    let of = |took: &Vec<Duration>| median(took.clone());
    let against = format!("the same of one with {FEW}");
    let (a, b) = (&took.many, &took.few);
    let pairs = [
        ("balance", &a.balance, &b.balance),
        ("newest page", &a.page, &b.page),
        ("page anywhere", &a.deep, &b.deep),
    ];
    for (what, many, few) in pairs {
        let name = format!("{what} of an address with {MANY} coins, over REST, not cached");
        bench.ratio(&name, ms(of(many)), "ms", of(many).as_secs_f64() / of(few).as_secs_f64(), &against);
    }
    service.store(&mut bench, many, few, &against).await;
    match lab::missing() {
        None => against_node(&mut bench, &rich, &took).await,
        Some(why) => bench.skipped("chia-node", &why),
    }
    service.stop().await;
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// How long answers took, for each of the two addresses.
#[derive(Default)]
struct Took {
    many: Times,
    few: Times,
}

#[derive(Default)]
struct Times {
    balance: Vec<Duration>,
    page: Vec<Duration>,
    deep: Vec<Duration>,
}

impl Took {
    fn of(&mut self, many: bool) -> &mut Times {
        if many { &mut self.many } else { &mut self.few }
    }
}

impl Times {
    fn add(&mut self, [balance, page, deep]: [Duration; 3]) {
        self.balance.push(balance);
        self.page.push(page);
        self.deep.push(deep);
    }
}

/// The service, and who asks it.
struct Served {
    chain: Chain,
    service: Standalone,
    client: reqwest::Client,
    _folder: TempDir,
}

impl Served {
    async fn start(rich: &Rich) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().display().to_string();
        let arguments = ["--data", &data, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let config = StandaloneConfig::parse(&arguments).unwrap();
        let chain = Chain::new(rich.blocks.as_slice().into());
        let source = Arc::new(chain.clone());
        let service =
            Standalone::start_on(source, Network::Simulator0, &config, Registry::default()).await.unwrap();
        let served = Self { chain, service, client: http::client(), _folder: folder };
        served.reach(rich).await;
        served
    }

    /// Moves on to the end of the chain, and waits until answers are from there.
    async fn reach(&self, rich: &Rich) {
        let tip = rich.blocks.last().unwrap().id;
        self.chain.set(rich.blocks.as_slice().into());
        let mut progress = self.service.progress.clone();
        let there = |at: Option<BlockId>| at == Some(tip);
        progress.wait_for(|all| all.values().any(|progress| there(progress.position.block))).await.unwrap();
        let url = self.url("xch-balance", Bytes32::ZERO, "");
        wait::until("the gateway at the tip", async || {
            let answer = self.client.get(&url).send().await.ok()?;
            let hash: Bytes32 = answer.headers().get("x-as-of-hash")?.to_str().ok()?.parse().ok()?;
            (hash == tip.hash).then_some(())
        })
        .await;
    }

    fn url(&self, route: &str, owner: PuzzleHash, query: &str) -> String {
        let address = encode_address(Network::Simulator0, owner);
        format!("http://{}/address/{route}/{address}?{query}", self.service.listen)
    }

    /// A balance, the newest page, and the page below a coin's number.
    async fn ask(&self, owner: PuzzleHash, below: usize) -> [Duration; 3] {
        let page = format!("count={PAGE}&include_send=false");
        let deep = format!("{page}&received_cursor={below}");
        [
            self.get(&self.url("xch-balance", owner, ""), 0).await,
            self.get(&self.url("xch-transaction", owner, &page), PAGE).await,
            self.get(&self.url("xch-transaction", owner, &deep), PAGE).await,
        ]
    }

    async fn get(&self, url: &str, rows: usize) -> Duration {
        let started = Instant::now();
        let answer = self.client.get(url).send().await.unwrap();
        let body = answer.bytes().await.unwrap();
        let took = started.elapsed();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let page = &body["received_transactions"]["transactions"];
        assert_eq!(page.as_array().map_or(0, Vec::len), rows, "{url}: {body}");
        took
    }

    /// The same without HTTP: straight from a view of the store, and coins too.
    async fn store(&self, bench: &mut Bench, many: PuzzleHash, few: PuzzleHash, against: &str) {
        let mut took = [[vec![], vec![]], [vec![], vec![]]];
        for _ in 0..READS {
            for (owner, times) in [many, few].into_iter().zip(&mut took) {
                let started = Instant::now();
                let view = self.service.addresses.view(0, None).await.unwrap();
                black_box(view.account(owner).await.unwrap());
                times[0].push(started.elapsed());
                let started = Instant::now();
                let view = self.service.addresses.view(0, None).await.unwrap();
                let coins = view.coins(owner, u64::MAX, PAGE).await.unwrap();
                times[1].push(started.elapsed());
                assert_eq!(coins.len(), PAGE);
            }
        }
        let [many, few] = took;
        for ((what, many), few) in ["sums", "newest page of coins"].into_iter().zip(many).zip(few) {
            let (many, few) = (median(many), median(few));
            let name = format!("{what} of an address with {MANY} coins, from the store");
            bench.ratio(&name, ms(many), "ms", many.as_secs_f64() / few.as_secs_f64(), against);
        }
    }

    async fn stop(self) {
        self.service.stop().cancel();
        self.service.run().await.unwrap();
    }
}

async fn against_node(bench: &mut Bench, rich: &Rich, took: &Took) {
    let mut lab = Lab::start(None);
    lab.run("farm", json!({ "blocks": 2 }));
    fill(&lab, rich);
    let node = Node::new(&lab);
    let page = json!({ "start_height": rich.paged, "end_height": rich.paged + 1 });
    let balance = json!({ "include_spent_coins": false });
    for (owner, times, name, rounds) in [(rich.few, &took.few, FEW, ROUNDS), (rich.many, &took.many, MANY, 1)]
    {
        let cases = [
            (
                "balance",
                "every unspent coin",
                &balance,
                if owner == rich.few { FEW } else { MANY },
                &times.balance,
                rounds,
            ),
            ("newest page", "the coins of that block", &page, PAGE, &times.page, ROUNDS),
        ];
        for (what, asked, parameters, coins, ours, rounds) in cases {
            let mut theirs = vec![];
            for _ in 0..rounds {
                theirs.push(node.coins(owner, parameters.clone(), coins).await);
            }
            let (ours, theirs) = (median(ours.clone()), median(theirs));
            let against = format!("the node's RPC, which gave {asked} in {:.2} ms", ms(theirs));
            let what = format!("{what} of an address with {name} coins, against the node's RPC");
            bench.ratio(&what, ms(ours), "ms", ours.as_secs_f64() / theirs.as_secs_f64(), &against);
        }
    }
}

/// Gives the node the same coins, in its own table.
fn fill(lab: &Lab, rich: &Rich) {
    let path = lab.node.database().replacen("db://", "", 1);
    let mut database = Connection::open(path).unwrap();
    let filling = database.transaction().unwrap();
    {
        let mut insert =
            filling.prepare("INSERT INTO coin_record VALUES (?1, ?2, 0, 0, ?3, ?4, ?5, ?6)").unwrap();
        for (coin, height) in &rich.coins {
            let amount = coin.amount.to_be_bytes();
            let (id, puzzle_hash, parent) = (coin.id(), coin.puzzle_hash, coin.parent);
            let timestamp = Rich::timestamp(*height);
            let row = (id.as_slice(), height, puzzle_hash.as_slice(), parent.as_slice(), amount, timestamp);
            insert.execute(row).unwrap();
        }
    }
    filling.commit().unwrap();
}

/// A node's RPC.
struct Node {
    url: String,
    client: reqwest::Client,
}

impl Node {
    fn new(lab: &Lab) -> Self {
        let source = url(&lab.node.rpc());
        let pem = [&source.1, &source.2].map(|path| fs::read(path).unwrap()).concat();
        // makes sure that there is something to do TLS with
        drop(http::client());
        let client = reqwest::Client::builder()
            .no_proxy()
            .identity(reqwest::Identity::from_pem(&pem).unwrap())
            .tls_danger_accept_invalid_certs(true)
            .build()
            .unwrap();
        Self { url: format!("https://{}/get_coin_records_by_puzzle_hash", source.0), client }
    }

    async fn coins(&self, owner: PuzzleHash, mut parameters: Value, coins: usize) -> Duration {
        parameters["puzzle_hash"] = format!("0x{owner}").into();
        let started = Instant::now();
        let answer = self.client.post(&self.url).json(&parameters).send().await.unwrap();
        let body = answer.bytes().await.unwrap();
        let took = started.elapsed();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["coin_records"].as_array().map_or(0, Vec::len), coins, "{}", body["error"]);
        took
    }
}

/// Address, certificate and key of `rpc://address?cert=…&key=…`.
fn url(source: &str) -> (String, String, String) {
    let rest = source.strip_prefix("rpc://").unwrap();
    let (address, rest) = rest.split_once("?cert=").unwrap();
    let (certificate, key) = rest.split_once("&key=").unwrap();
    (address.to_owned(), certificate.to_owned(), key.to_owned())
}
