//! The service in a process of its own.

use crate::{http, wait};
use mojoscan_domain::address::encode_address;
use mojoscan_domain::{BlockId, Bytes32, Network};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time until a process is up, or has ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// How to start a service.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// The program.
    pub program: PathBuf,
    /// `--source`.
    pub source: String,
    /// `--network`.
    pub network: String,
    /// `--data`.
    pub data: PathBuf,
    /// `FAILPOINTS`.
    pub failpoints: Option<String>,
}

/// A service in a process of its own. It is killed when it is dropped.
pub struct Service {
    child: Child,
    /// Where it answers.
    pub url: String,
    /// Where its health and metrics are.
    pub admin: String,
    log: Receiver<String>,
}

impl Service {
    /// Starts it, and waits for nothing.
    pub fn spawn(options: &ServiceOptions) -> Self {
        let data = options.data.to_str().unwrap();
        let arguments =
            ["standalone", "--listen", "127.0.0.1:0", "--source", &options.source, "--data", data];
        let arguments = arguments.into_iter().chain(["--network", &options.network]);
        Self::process(&options.program, arguments, options.failpoints.as_deref())
    }

    /// Starts any process of the program, and waits for nothing.
    pub fn process<'a>(
        program: &Path,
        arguments: impl IntoIterator<Item = &'a str>,
        failpoints: Option<&str>,
    ) -> Self {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(["--admin", "127.0.0.1:0", "--log-format", "json"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(failpoints) = failpoints {
            command.env("FAILPOINTS", failpoints);
        }
        let mut child = command.spawn().unwrap();
        let log = lines(child.stderr.take().unwrap());
        Self { child, url: String::new(), admin: String::new(), log }
    }

    /// Starts it, and waits until it listens. `None` if it ended before that.
    pub fn try_start(options: &ServiceOptions) -> Option<Self> {
        Self::spawn(options).up()
    }

    /// Waits until it listens. `None` if it ended before that.
    pub fn up(mut self) -> Option<Self> {
        while let Ok(line) = self.log.recv_timeout(PATIENCE) {
            let entry: Value = serde_json::from_str(&line).unwrap_or_default();
            if entry["message"] != "mojoscan is up" {
                // shown only if the test fails: why it did not come up stands here
                println!("{line}");
            } else {
                // an ingestor serves nobody
                self.url = format!("http://{}", entry["listen"].as_str().unwrap_or_default());
                self.admin = format!("http://{}", entry["admin"].as_str().unwrap());
                return Some(self);
            }
        }
        None
    }

    /// Tells it to end, or stops it in its tracks, or lets it go on: a signal by its name.
    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Lets it work for a while, wherever that leads.
    pub fn work(&self, time: Duration) {
        let end = Instant::now() + time;
        while self.log.recv_timeout(end.saturating_duration_since(Instant::now())).is_ok() {}
    }

    /// Starts it, and waits until it listens.
    pub fn start(options: &ServiceOptions) -> Self {
        Self::try_start(options).unwrap_or_else(|| panic!("{options:?} did not start"))
    }

    /// Waits until everything it answers is true at this block.
    pub async fn reach(&self, block: BlockId) {
        // what is asked for does not matter
        let anybody = encode_address(Network::Simulator0, Bytes32::ZERO);
        let (client, url) = (http::client(), format!("{}/address/xch-balance/{anybody}", self.url));
        wait::until(&format!("the service at block {block}"), async || {
            let answer = client.get(&url).send().await.ok()?;
            let height = answer.headers().get("x-as-of-height")?.to_str().ok()?.parse().ok()?;
            let hash: Bytes32 = answer.headers().get("x-as-of-hash")?.to_str().ok()?.parse().ok()?;
            (BlockId { height, hash } == block).then_some(())
        })
        .await;
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once, as a power cut would.
    pub fn kill(mut self) {
        self.kill_now();
    }

    /// The same, for one that is replaced: its ports are free afterwards.
    pub fn kill_now(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its exit status, if it has ended by itself.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits until it logs a message, and gives all that it logs with it.
    pub fn logs(&self, message: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        while let Ok(line) = self.log.recv_timeout(end.saturating_duration_since(Instant::now())) {
            let entry: Value = serde_json::from_str(&line).unwrap_or_default();
            if entry["message"] == message {
                return entry;
            }
        }
        panic!("no message {message:?} within {PATIENCE:?}");
    }

    /// Ends it as an operator does, and gives its exit status.
    pub fn terminate(mut self) -> ExitStatus {
        self.signal("TERM");
        self.ended()
    }

    /// Waits until it has ended by itself.
    pub fn ended(&mut self) -> ExitStatus {
        loop {
            match self.log.recv_timeout(PATIENCE) {
                Ok(_) => {}
                // the log ends with the process
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap(),
                Err(RecvTimeoutError::Timeout) => panic!("process {} does not end", self.id()),
            }
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        if thread::panicking() {
            for line in &self.log {
                eprintln!("{} {line}", self.url);
            }
        }
    }
}

/// Sends a process a signal, by its name.
pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// The lines that a process writes, as they come.
pub fn lines(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Runs a program to its end, and gives its output. Fails the test if it fails.
pub fn output(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {arguments:?}: {error}", program.display());
    String::from_utf8(output.stdout).unwrap()
}
