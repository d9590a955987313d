//! One binary, a subcommand for each process and each operator's tool.

use std::process::ExitCode;

fn main() -> ExitCode {
    mojoscan::run(std::env::args_os().collect())
}
