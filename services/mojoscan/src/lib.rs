//! The command line: reads what is asked for, and does it.

mod check_config;
mod cli;
mod decode;
mod digest;
mod fleet;
mod in_process;
mod process;
mod record;
mod rpc;
mod standalone;

pub use process::LagConfig;
pub use standalone::{Standalone, StandaloneConfig, demo};

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use cli::{Cli, Command};
use mojoscan_runtime::config::{self, Parsed};
use mojoscan_runtime::exit::{self, Failure};
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

/// How long calls of libraries that block may take once all is done.
const SHUTDOWN_MAX: Duration = Duration::from_secs(2);

/// The system's allocator keeps what many threads allocate and free in turns: memory would grow for as long as blocks
/// come, and a back-fill takes a seventh longer.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Runs a command line, program name included, and says how it went.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let outcome = match config::parse(Cli::command(), arguments) {
        Ok(Parsed::Show(text)) => exit::print(&text),
        Ok(Parsed::Run(matches)) => dispatch(&matches),
        Err(failure) => Err(failure),
    };
    match outcome {
        Ok(()) => ExitCode::from(exit::OK),
        Err(failure) => failure.report(),
    }
}

fn dispatch(matches: &ArgMatches) -> Result<(), Failure> {
    let cli =
        Cli::from_arg_matches(matches).map_err(|error| Failure::new(exit::CONFIG, error.to_string()))?;
    match cli.command {
        Command::Standalone(config) => asynchronously(standalone::run(config)),
        Command::Ingestor(config) => asynchronously(fleet::ingestor::run(config)),
        Command::Address(config) => asynchronously(fleet::address::run(config)),
        Command::Gateway(config) => asynchronously(fleet::gateway::run(config)),
        Command::Topics(command) => asynchronously(fleet::topics::run(command)),
        Command::Migrate(options) => asynchronously(fleet::migrate::run(options)),
        Command::Replay(config) => asynchronously(fleet::replay::run(config)),
        Command::Record(config) => asynchronously(record::run(config)),
        Command::Decode(options) => decode::run(&options),
        Command::Digest(options) => asynchronously(digest::run(options)),
        Command::CheckConfig(config) => {
            config.check()?;
            check_config::run(matches)
        }
    }
}

fn asynchronously(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start the runtime: {error}")))?;
    let done = runtime.block_on(work);
    // a library that waits for an engine is not waited for: the engines see a process that was killed
    runtime.shutdown_timeout(SHUTDOWN_MAX);
    done
}
