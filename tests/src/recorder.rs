//! The service's recorder, in a process of its own.

use crate::service::signal;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// `record`, in a process of its own. It is killed when it is dropped.
pub struct Recorder {
    child: Child,
    file: PathBuf,
}

impl Recorder {
    /// Starts to record a source.
    pub fn start(program: &Path, source: &str, file: &Path) -> Self {
        let child = Command::new(program)
            .args(["record", "--source", source, "--network", "simulator0", "--out"])
            .arg(file)
            // a wallet may think for minutes; the test ends it
            .args(["--quiet-seconds", "3600"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, file: file.to_owned() }
    }

    /// Ends it, with all that it was told of so far.
    pub fn finish(mut self) -> PathBuf {
        signal(&self.child, "TERM");
        assert!(self.child.wait().unwrap().success());
        self.file.clone()
    }
}

/// A test that fails leaves nobody behind.
impl Drop for Recorder {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
