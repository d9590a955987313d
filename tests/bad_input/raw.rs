//! Requests as they are, without a library that would put them right first.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client of one server, which keeps its connection as long as the server does.
pub(crate) struct Raw {
    address: String,
    stream: Option<BufReader<TcpStream>>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Raw {
    /// A client of a server.
    pub(crate) fn new(url: &str) -> Self {
        Self { address: url.trim_start_matches("http://").to_owned(), stream: None }
    }

    /// Asks for a target.
    pub(crate) fn get(&mut self, target: impl AsRef<[u8]>) -> Reply {
        self.ask("GET", target, "")
    }

    /// Asks with any method; `headers` are whole lines.
    pub(crate) fn ask(&mut self, method: &str, target: impl AsRef<[u8]>, headers: &str) -> Reply {
        let head = [method.as_bytes(), b" ", target.as_ref(), b" HTTP/1.1\r\nHost: test\r\n"].concat();
        let request = [&head[..], headers.as_bytes(), b"\r\n"].concat();
        let reused = self.stream.is_some();
        let reply = match self.exchange(&request, method) {
            // the server may have closed the connection since the last answer
            Err(_) if reused => {
                self.stream = None;
                self.exchange(&request, method)
            }
            other => other,
        };
        let reply = reply.unwrap_or_else(|error| panic!("{}: {error}", String::from_utf8_lossy(&head)));
        if reply.header("connection").is_some_and(|value| value == "close") {
            self.stream = None;
        }
        reply
    }

    fn exchange(&mut self, request: &[u8], method: &str) -> io::Result<Reply> {
        let stream = match self.stream.take() {
            Some(open) => self.stream.insert(open),
            None => {
                let stream = TcpStream::connect(&self.address)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_nodelay(true)?;
                self.stream.insert(BufReader::new(stream))
            }
        };
        // a server that refuses early may close before it has read everything
        drop(stream.get_mut().write_all(request));
        Reply::read(stream, method)
    }
}

impl Reply {
    fn read(stream: &mut BufReader<TcpStream>, method: &str) -> io::Result<Self> {
        let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let mut line = || {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            if line.is_empty() { Err(bad("the connection ended")) } else { Ok(line.trim_end().to_owned()) }
        };
        let first = line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status: u16 = status.ok_or_else(|| bad(&first))?;
        let mut headers = vec![];
        loop {
            let line = line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = Self { status, headers, body: vec![] };
        if method != "HEAD" && status != 304 {
            let length = reply.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
            reply.body = vec![0; length];
            stream.read_exact(&mut reply.body)?;
        }
        Ok(reply)
    }

    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(&self.body)))
    }

    /// What every answer has, good or bad.
    pub(crate) fn has_what_every_answer_has(&self) {
        assert_eq!(self.header("access-control-allow-origin"), Some("*"), "{self:?}");
        let exposed = self.header("access-control-expose-headers").unwrap_or_default();
        assert!(exposed.contains("x-request-id"), "{self:?}");
        assert!(self.header("x-request-id").is_some_and(|id| !id.is_empty()), "{self:?}");
    }

    /// That this is a failure in the one shape that failures have. Gives its code.
    pub(crate) fn failure(&self) -> String {
        self.has_what_every_answer_has();
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        assert_eq!(self.header("cache-control"), Some("no-store"), "{self:?}");
        let body = self.json();
        let text = |key: &str| body[key].as_str().unwrap_or_else(|| panic!("no {key} in {body}")).to_owned();
        assert_eq!(text("status"), "failed");
        assert_eq!(Some(text("request_id").as_str()), self.header("x-request-id"));
        let (code, message) = (text("code"), text("message"));
        assert!(code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{body}");
        assert!(message.len() > 8, "{body}");
        for inner in ["panick", "tonic", "rust", "::", "/src/"] {
            assert!(!message.contains(inner), "an internal detail: {body}");
        }
        assert_eq!(body.as_object().map(serde_json::Map::len), Some(4), "{body}");
        code
    }

    /// That this refuses a request with this status and code.
    pub(crate) fn refuses(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.failure().as_str()), (status, code), "{self:?}");
    }

    /// That this answers. Gives the body.
    pub(crate) fn answers(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}: {}", String::from_utf8_lossy(&self.body));
        self.has_what_every_answer_has();
        self.json()
    }
}
