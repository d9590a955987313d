//! The service as it ships, but with fail points that `FAILPOINTS` arms: a point that panics ends the process at once,
//! as a crash would.

use std::process::ExitCode;

fn main() -> ExitCode {
    let _armed = fail::FailScenario::setup();
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        std::process::abort();
    }));
    mojoscan::run(std::env::args_os().collect())
}
