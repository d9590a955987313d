//! Tests that need something from outside. Where that is missing they are reported as ignored, by name; with `CI=true`
//! they run, and fail.

use libtest_mimic::{Arguments, Trial};
use std::env;

/// What a test needs.
#[derive(Debug, Clone)]
pub struct Need {
    /// Its name, as it stands before the test's.
    pub name: &'static str,
    /// Why it is not there.
    pub missing: Option<String>,
    /// CI is expected to have it.
    pub in_ci: bool,
}

/// Runs tests, and ends the process.
pub fn run(need: &Need, tests: &[(&'static str, fn())]) -> ! {
    let required = need.in_ci && env::var("CI").is_ok_and(|value| value == "true");
    let ignored = need.missing.is_some() && !required;
    if let Some(missing) = &need.missing {
        eprintln!("{}: {missing}", need.name);
    }
    let trials = tests.iter().map(|(name, test)| {
        let (need, test) = (need.clone(), *test);
        let work = move || match &need.missing {
            Some(missing) => Err(missing.into()),
            None => {
                test();
                Ok(())
            }
        };
        Trial::test(*name, work).with_kind(need.name).with_ignored_flag(ignored)
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit()
}
