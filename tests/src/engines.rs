//! A real broker and a real store, each in a process of its own.

use crate::service::signal;
use crate::wait;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// How long an engine that takes a connection may think about an answer.
const ANSWER: Duration = Duration::from_secs(1);
/// Lines of an engine's log that are shown when a test fails.
const LOG_LINES: usize = 40;

/// Which engine, and what it answers to.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    hello: &'static [u8],
}

/// Asks which requests are known.
const KAFKA: Kind = Kind { name: "kafka", hello: b"\0\0\0\x0a\0\x12\0\0\0\0\0\0\xff\xff" };
/// Asks for the options of version 4.
const CASSANDRA: Kind = Kind { name: "cassandra", hello: b"\x04\0\0\0\x05\0\0\0\0" };

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

impl Kind {
    fn folder(&self) -> PathBuf {
        repository().join("target/engines").join(self.name)
    }

    fn missing(&self) -> Option<String> {
        let ready = self.folder().join("ready").is_file();
        (!ready).then(|| format!("{} is not installed: `make engines` does that", self.name))
    }
}

/// An engine in a process of its own, with its data in a folder of its own. It is killed when it is dropped, and when
/// the test's process ends.
#[derive(Debug)]
pub struct Engine {
    kind: &'static Kind,
    child: Child,
    folder: TempDir,
    port: u16,
    internal: u16,
}

impl Engine {
    async fn start(kind: &'static Kind, extra: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (port, internal) = (free_port(), free_port());
        let extra = extra.replace("{port}", &port.to_string()).replace("{internal}", &internal.to_string());
        fs::write(folder.path().join("extra"), extra).unwrap();
        let child = spawn(kind, folder.path(), port, internal);
        let mut engine = Self { kind, child, folder, port, internal };
        engine.answers().await;
        engine
    }

    /// Where it takes clients, as host:port.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Ends it at once, as a power cut would, but for what the operating system still has to write.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as an operator does.
    pub async fn stop(&mut self) {
        signal(&self.child, "TERM");
        // not wait, which closes the pipe: the engine is killed when that ends
        wait::until("the engine to end", async || self.child.try_wait().unwrap()).await;
    }

    /// Starts it again where it was, with the data it had.
    pub async fn restart(&mut self) {
        assert!(self.child.try_wait().unwrap().is_some(), "{} still runs", self.kind.name);
        self.child = spawn(self.kind, self.folder.path(), self.port, self.internal);
        self.answers().await;
    }

    /// Stops it in its tracks; it keeps its connections.
    pub fn pause(&self) {
        signal(&self.child, "STOP");
    }

    /// Lets it go on.
    pub fn resume(&self) {
        signal(&self.child, "CONT");
    }

    async fn answers(&mut self) {
        let (name, address) = (self.kind.name, self.address());
        wait::until(name, async || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{name} ended: {}", log_end(self.folder.path()));
            let mut stream = TcpStream::connect(&address).ok()?;
            stream.set_read_timeout(Some(ANSWER)).ok()?;
            stream.write_all(self.kind.hello).ok()?;
            stream.read_exact(&mut [0; 1]).ok()
        })
        .await;
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        if thread::panicking() {
            eprintln!("{}: {}", self.kind.name, log_end(self.folder.path()));
        }
    }
}

/// An Apache Kafka broker.
#[derive(Debug)]
pub struct Kafka(Engine);

impl Kafka {
    /// Why there is none here.
    pub fn missing() -> Option<String> {
        KAFKA.missing()
    }

    /// The class path of the tools that come with it.
    pub fn classes() -> PathBuf {
        KAFKA.folder().join("lib/*")
    }

    /// Starts an empty one.
    pub async fn start() -> Self {
        Self::start_with("").await
    }

    /// Starts an empty one with these lines added to its `server.properties`; `{port}` and `{internal}` stand for the ports
    /// of the listeners `PLAINTEXT` and `CONTROLLER`.
    pub async fn start_with(properties: &str) -> Self {
        Self(Engine::start(&KAFKA, properties).await)
    }
}

/// An Apache Cassandra node. Its data centre is `datacenter1`.
#[derive(Debug)]
pub struct Cassandra(Engine);

impl Cassandra {
    /// Why there is none here.
    pub fn missing() -> Option<String> {
        CASSANDRA.missing()
    }

    /// Starts an empty one.
    pub async fn start() -> Self {
        Self::start_with("").await
    }

    /// Starts an empty one with these lines added to its `cassandra.yaml`.
    pub async fn start_with(yaml: &str) -> Self {
        Self(Engine::start(&CASSANDRA, yaml).await)
    }
}

macro_rules! deref_to_engine {
    ($($name:ident)*) => {$(
        impl Deref for $name {
            type Target = Engine;

            fn deref(&self) -> &Engine {
                &self.0
            }
        }

        impl DerefMut for $name {
            fn deref_mut(&mut self) -> &mut Engine {
                &mut self.0
            }
        }
    )*};
}

deref_to_engine!(Kafka Cassandra);

fn spawn(kind: &Kind, folder: &Path, port: u16, internal: u16) -> Child {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    Command::new(repository().join("deploy/engines/engines"))
        .args(["run", kind.name])
        .arg(folder.join("data"))
        .args([port.to_string(), internal.to_string()])
        .arg(folder.join("extra"))
        .stdin(Stdio::piped())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}

/// The end of an engine's log.
fn log_end(folder: &Path) -> String {
    let log = fs::read(folder.join("log")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

/// A port below those that outgoing connections take: while the engine is down none of its clients can occupy it.
pub fn free_port() -> u16 {
    loop {
        let port = fastrand::u16(10_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
