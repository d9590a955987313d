//! Configuration: flags, then `MOJOSCAN_*` variables, then a TOML file, then defaults.
//!
//! A setting is declared once, as a clap argument; its help text is its documentation. The file's values become the
//! arguments' defaults before the command line is read, so that the order of precedence is clap's own.

use crate::exit::{self, Failure};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The argument that names the file.
pub const FILE: &str = "config";
/// Settings whose values are never shown.
const SECRETS: [&str; 2] = ["kafka_password", "cql_password"];

/// What the command line asked for.
#[derive(Debug)]
pub enum Parsed {
    /// To run, with these settings.
    Run(ArgMatches),
    /// To be shown this text.
    Show(String),
}

/// Reads the command line, the environment, and the file they name.
///
/// # Errors
/// [`exit::CONFIG`], with one line that says what to change.
pub fn parse(command: Command, arguments: Vec<OsString>) -> Result<Parsed, Failure> {
    let file = file_named(&arguments);
    let command = match file {
        Some(path) => with_file(command, &path)?,
        None => command,
    };
    match command.try_get_matches_from(arguments) {
        Ok(matches) => Ok(Parsed::Run(matches)),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Ok(Parsed::Show(error.render().to_string()))
            }
            _ => Err(invalid(one_line(&error.render().to_string()))),
        },
    }
}

/// The settings in force for a subcommand, one a line, with where each comes from. Secrets are masked.
pub fn in_force(command: &Command, matches: &ArgMatches) -> String {
    let mut lines = vec![];
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let Ok(Some(values)) = matches.try_get_raw(id) else { continue };
        let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
        let value = if SECRETS.contains(&id) { "********".to_owned() } else { values.join(",") };
        let source = match matches.value_source(id) {
            Some(ValueSource::CommandLine) => "flag",
            Some(ValueSource::EnvVariable) => "environment",
            _ => "file or default",
        };
        lines.push(format!("{id} = {value}  # {source}"));
    }
    lines.join("\n")
}

/// The file that the command line or the environment names.
fn file_named(arguments: &[OsString]) -> Option<PathBuf> {
    let flag = format!("--{FILE}");
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if *argument == *flag {
            return arguments.next().map(PathBuf::from);
        }
        if let Some(path) = argument.to_str().and_then(|text| text.strip_prefix(&format!("{flag}="))) {
            return Some(PathBuf::from(path));
        }
    }
    std::env::var_os("MOJOSCAN_CONFIG").map(PathBuf::from)
}

/// The values of one setting, as a settings file has it now: for settings that a running process takes anew.
///
/// # Errors
/// [`exit::CONFIG`] if the file cannot be read, or does not have the setting.
pub fn list_in_file(path: &Path, key: &str) -> Result<Vec<String>, Failure> {
    let table = read(path)?;
    let values = table.get(key).and_then(scalar);
    let values = values.ok_or_else(|| invalid(format!("{}: '{key}' is not there", path.display())))?;
    Ok(values.split(',').map(|value| value.trim().to_owned()).collect())
}

fn read(path: &Path) -> Result<Table, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| invalid(format!("{name}: {error}")))?;
    toml::from_str(&text).map_err(|error| invalid(one_line(&format!("{name}: {error}"))))
}

fn with_file(mut command: Command, path: &Path) -> Result<Command, Failure> {
    let name = path.display();
    let table = read(path)?;
    let known: Vec<String> = command
        .get_subcommands()
        .flat_map(Command::get_arguments)
        .map(|argument| argument.get_id().to_string())
        .collect();
    for (key, value) in table {
        if !known.contains(&key) || key == FILE {
            return Err(invalid(format!("{name}: unknown setting '{key}'")));
        }
        let value = scalar(&value).ok_or_else(|| invalid(format!("{name}: '{key}' is not a plain value")))?;
        let names: Vec<String> = command
            .get_subcommands()
            .filter(|subcommand| subcommand.get_arguments().any(|argument| *argument.get_id() == *key))
            .map(|subcommand| subcommand.get_name().to_owned())
            .collect();
        for subcommand in names {
            let (key, value) = (key.clone(), value.clone());
            command = command.mut_subcommand(subcommand, |subcommand| {
                subcommand.mut_arg(key, |argument| argument.default_value(value).required(false))
            });
        }
    }
    Ok(command)
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(flag) => Some(flag.to_string()),
        Value::Array(items) => {
            items.iter().map(scalar).collect::<Option<Vec<_>>>().map(|items| items.join(","))
        }
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

fn invalid(message: String) -> Failure {
    Failure::new(exit::CONFIG, message)
}

/// What matters of an error text, on one line.
fn one_line(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
        .trim_start_matches("error: ")
        .to_owned()
}
