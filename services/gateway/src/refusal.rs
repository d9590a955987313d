//! Gives the error envelope to what never reaches the router.
//!
//! What cannot be read as an HTTP/1.1 request the HTTP library refuses by itself, with a bare status, and ends the
//! connection. Between it and the socket stands [`Enveloped`], which writes our own refusal in its place.

use crate::edge::{EXPOSED, REQUEST_ID, URI_BYTES_MAX, new_request_id};
use crate::error::{ApiError, ErrorCode};
use crate::serve::{HEAD_BYTES_MAX, HEADERS_MAX};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Most bytes that are still taken from a client that was refused, so that it gets to read why.
const DRAIN_BYTES_MAX: usize = 4 << 20;
/// How long it is given for that.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(2);

/// A socket on which the bare refusals of the HTTP library get the error envelope.
pub(crate) struct Enveloped<S> {
    socket: S,
    /// What is written in place of a bare refusal.
    refusal: Vec<u8>,
    written: usize,
    drained: usize,
    /// When draining ends. Set once it has begun.
    drain_end: Option<Pin<Box<Sleep>>>,
}

impl<S> Enveloped<S> {
    pub(crate) const fn new(socket: S) -> Self {
        Self { socket, refusal: vec![], written: 0, drained: 0, drain_end: None }
    }
}

impl<S: AsyncWrite + AsyncRead + Unpin> Enveloped<S> {
    /// Writes what is left of the refusal.
    fn refuse(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.refusal.len() {
            let left = &self.refusal[self.written..];
            match ready!(Pin::new(&mut self.socket).poll_write(context, left))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Takes what a refused client still sends: closing with it unread would take the refusal from it.
    fn drain(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut space = [0; 4096];
        let end = self.drain_end.get_or_insert_with(|| Box::pin(tokio::time::sleep(DRAIN_TIME_MAX)));
        if end.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        while self.drained < DRAIN_BYTES_MAX {
            let mut buffer = ReadBuf::new(&mut space);
            match ready!(Pin::new(&mut self.socket).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => self.drained += buffer.filled().len(),
                _ => break,
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Enveloped<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + AsyncRead + Unpin> AsyncWrite for Enveloped<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.refusal.is_empty() {
            match refusal(bytes) {
                None => return Pin::new(&mut self.socket).poll_write(context, bytes),
                Some(refusal) => self.refusal = refusal,
            }
        }
        ready!(self.refuse(context))?;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = slices.iter().find(|slice| !slice.is_empty());
        if self.refusal.is_empty() && first.is_none_or(|first| status(first).is_none()) {
            return Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        }
        self.poll_write(context, first.map_or(&[], |slice| slice))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_shutdown(context))?;
        if !self.refusal.is_empty() {
            ready!(self.drain(context));
        }
        Poll::Ready(Ok(()))
    }
}

/// The status of a bare refusal. Our own answers with such a status have a body.
fn status(bytes: &[u8]) -> Option<&[u8]> {
    let (version, rest) = bytes.split_at_checked(b"HTTP/1.1 ".len())?;
    let bare = version == b"HTTP/1.1 "
        && bytes.ends_with(b"\r\n\r\n")
        && bytes.split(|byte| *byte == b'\n').any(|line| line == b"content-length: 0\r");
    rest.get(..3).filter(|status| bare && [&b"400"[..], b"414", b"431"].contains(status))
}

/// What is written in place of a bare refusal.
fn refusal(bytes: &[u8]) -> Option<Vec<u8>> {
    let (code, message) = match status(bytes)? {
        b"414" => (
            ErrorCode::UriTooLong,
            format!("the request target is too long; at most {URI_BYTES_MAX} bytes are taken"),
        ),
        b"431" => (
            ErrorCode::HeadTooLarge,
            format!(
                "the request's head is too large; at most {URI_BYTES_MAX} bytes of request target, {HEADERS_MAX} \
                 headers and {HEAD_BYTES_MAX} bytes in all are taken"
            ),
        ),
        _ => (ErrorCode::MalformedRequest, "this is not a request of HTTP/1.1 or HTTP/2".to_owned()),
    };
    let id = new_request_id();
    let body = serde_json::to_string(&ApiError::bad_request(code, message).body(&id)).ok()?;
    let exposed = EXPOSED.map(|name| name.to_string());
    let head = [
        "HTTP/1.1 400 Bad Request".to_owned(),
        "content-type: application/json".to_owned(),
        format!("content-length: {}", body.len()),
        "cache-control: no-store".to_owned(),
        "access-control-allow-origin: *".to_owned(),
        format!("access-control-expose-headers: {}", exposed.join(",")),
        format!("{REQUEST_ID}: {id}"),
        "x-content-type-options: nosniff".to_owned(),
        "connection: close".to_owned(),
    ];
    Some(format!("{}\r\n\r\n{body}", head.join("\r\n")).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bare_refusal_is_written_anew() {
        let bare = "HTTP/1.1 414 URI Too Long\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        let told = String::from_utf8(refusal(bare.as_bytes()).unwrap()).unwrap();
        assert!(told.starts_with("HTTP/1.1 400 ") && told.contains("\"code\":\"uri_too_long\""), "{told}");
        for other in [
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 414",
            "",
        ] {
            assert!(refusal(other.as_bytes()).is_none(), "{other}");
        }
    }
}
