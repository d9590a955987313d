//! Exit codes, so that scripts can tell failures apart.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Everything went well.
pub const OK: u8 = 0;
/// Something failed while the process ran.
pub const FAILED: u8 = 1;
/// The configuration is wrong (as `EX_USAGE`).
pub const CONFIG: u8 = 64;
/// Data given to the process is wrong (as `EX_DATAERR`).
pub const DATA: u8 = 65;
/// Another process has taken over, or this one stood still for so long that it may be so.
pub const FENCED: u8 = 75;

/// A failure that ends the process: its code, and the one line that says what happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// The line.
    pub message: String,
}

impl Failure {
    /// A failure with a code.
    #[expect(clippy::needless_pass_by_value, reason = "errors are handed over as they come")]
    pub fn new(code: u8, message: impl ToString) -> Self {
        Self { code, message: message.to_string() }
    }

    /// A failure while the process ran.
    pub fn failed(message: impl ToString) -> Self {
        Self::new(FAILED, message)
    }

    /// Prints the line and gives the code.
    pub fn report(&self) -> ExitCode {
        eprintln!("mojoscan: {}", self.message.lines().collect::<Vec<_>>().join(" "));
        ExitCode::from(self.code)
    }
}

/// Prints on standard output. Whoever reads it may stop before the end, as `head` does.
///
/// # Errors
/// If it cannot be written for another reason.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::failed(error)),
        _ => Ok(()),
    }
}
