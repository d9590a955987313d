//! `check-config`: the settings in force.

use crate::cli::Cli;
use clap::{ArgMatches, CommandFactory};
use mojoscan_runtime::config;
use mojoscan_runtime::exit::{self, Failure};

pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let command = Cli::command();
    if let Some((name, matches)) = matches.subcommand()
        && let Some(subcommand) = command.find_subcommand(name)
    {
        exit::print(&format!("{}\n", config::in_force(subcommand, matches)))?;
    }
    Ok(())
}
