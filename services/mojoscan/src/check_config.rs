//! `check-config`: the settings in force.

use crate::cli::Cli;
use clap::{ArgMatches, CommandFactory};
use mojoscan_runtime::config;
use mojoscan_runtime::exit::Failure;

pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let command = Cli::command();
    if let Some((name, matches)) = matches.subcommand()
        && let Some(subcommand) = command.find_subcommand(name)
    {
        println!("{}", config::in_force(subcommand, matches));
    }
    Ok(())
}
