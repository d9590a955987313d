//! A real Chia node with its wallet, driven from here.

use crate::service::lines;
use mojoscan_domain::BlockId;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;
use tempfile::TempDir;

/// Longest time for anything that the laboratory is told to do.
const PATIENCE: Duration = Duration::from_secs(600);

/// The folder of the laboratory's programs.
fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("node")
}

/// The folder into which `make engines` has installed the node.
fn installed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/engines/node")
}

/// Why there is no node here.
pub fn missing() -> Option<String> {
    let ready = installed().join("ready").is_file();
    (!ready).then(|| "the Chia node is not installed: `make engines` does that".to_owned())
}

/// A real Chia node with its wallet, in a process of its own, which ends with it.
pub struct Lab {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<String>,
    folder: TempDir,
    hard_fork: Option<u32>,
    /// Where it listens, and where its files are.
    pub node: Node,
}

/// What it says when it was told to do something. Kept as text: sums of mojos are larger than any number type.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Ok(Box<RawValue>),
    Error(String),
}

/// Where a node listens, and where its files are.
#[derive(Debug, Clone, Deserialize)]
pub struct Node {
    peer: u16,
    rpc: u16,
    certificate: PathBuf,
    key: PathBuf,
    database: PathBuf,
    root: PathBuf,
}

impl Node {
    /// It as a source over the peer protocol.
    pub fn peer(&self) -> String {
        format!("peer://127.0.0.1:{}", self.peer)
    }

    /// It as a source through its RPC.
    pub fn rpc(&self) -> String {
        let (certificate, key) = (self.certificate.display(), self.key.display());
        format!("rpc://127.0.0.1:{}?cert={certificate}&key={key}", self.rpc)
    }

    /// It as a source through its database file.
    pub fn database(&self) -> String {
        format!("db://{}", self.database.display())
    }
}

impl Lab {
    /// Starts a node, before its first block. After the height `hard_fork` its blocks follow hard fork 2.
    pub fn start(hard_fork: Option<u32>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("lab");
        let copied =
            Command::new("cp").arg("-r").arg(installed().join("template")).arg(&root).status().unwrap();
        assert!(copied.success());
        let mut command = python();
        command.arg(programs().join("lab.py")).arg("run").arg(&root);
        command.args(hard_fork.map(|height| height.to_string()));
        let log = fs::File::create(folder.path().join("lab.err")).unwrap();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let commands = child.stdin.take().unwrap();
        let answers = lines(child.stdout.take().unwrap());
        let node = serde_json::from_str(&object(&answers)).unwrap();
        Self { child, commands, answers, folder, hard_fork, node }
    }

    /// Has something done, and gives what it says.
    pub fn run(&mut self, name: &str, mut parameters: Value) -> Box<RawValue> {
        parameters["do"] = name.into();
        writeln!(self.commands, "{parameters}").unwrap();
        let answer: Answer = serde_json::from_str(&object(&self.answers)).unwrap();
        match answer {
            Answer::Ok(done) => done,
            Answer::Error(reason) => panic!("{name}: {reason}"),
        }
    }

    /// Has something done that needs no parameters.
    pub fn stage(&mut self, name: &str) -> Box<RawValue> {
        self.run(name, json!({}))
    }

    /// The end of its chain.
    pub fn peak(&mut self) -> BlockId {
        let state: Value = serde_json::from_str(self.stage("state").get()).unwrap();
        let hash = state["hash"].as_str().unwrap().trim_start_matches("0x").parse().unwrap();
        BlockId { height: u32::try_from(state["height"].as_u64().unwrap()).unwrap(), hash }
    }

    /// Compares what a service answers with an independent reading of the node's database, and with what the wallets
    /// say where `balances` has that. Gives how much was compared; fails the test at any difference.
    pub fn compare(&self, url: &str, balances: Option<&RawValue>) -> Value {
        let mut command = python();
        command
            .arg(programs().join("compare.py"))
            .arg(url)
            .arg(&self.node.database)
            .env("CHIA_ROOT", &self.node.root)
            .env("CHIA_KEYS_ROOT", self.node.root.with_file_name("keys"));
        if let Some(height) = self.hard_fork {
            command.arg("--hf2").arg(height.to_string());
        }
        if let Some(balances) = balances {
            let file = self.folder.path().join("balances.json");
            fs::write(&file, balances.get()).unwrap();
            command.arg("--balances").arg(file);
        }
        let output = command.output().unwrap();
        let (found, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{found}{error}");
        serde_json::from_str(&found).unwrap()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn python() -> Command {
    let mut python = Command::new(installed().join("venv/bin/python"));
    python.arg("-B");
    python
}

/// The next line that is an object; libraries print others.
fn object(answers: &Receiver<String>) -> String {
    loop {
        match answers.recv_timeout(PATIENCE) {
            Ok(line) if line.starts_with('{') => return line,
            Ok(_) => {}
            Err(error) => panic!("the laboratory does not answer: {error}"),
        }
    }
}
