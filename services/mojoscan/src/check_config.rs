//! `check-config`: the settings in force.

use crate::cli::Cli;
use clap::{ArgMatches, Command, CommandFactory};
use mojoscan_runtime::config;
use mojoscan_runtime::exit::{self, Failure};

pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    exit::print(&format!("{}\n", innermost(&Cli::command(), matches)))
}

/// The settings of the last command named.
fn innermost(command: &Command, matches: &ArgMatches) -> String {
    let named = matches.subcommand();
    let below = named.and_then(|(name, matches)| Some((command.find_subcommand(name)?, matches)));
    match below {
        Some((subcommand, matches)) => innermost(subcommand, matches),
        None => config::in_force(command, matches),
    }
}
