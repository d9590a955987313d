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

/// The settings in force for a command, one a line, with where each comes from. A setting whose environment variable
/// hides its value is masked.
pub fn in_force(command: &Command, matches: &ArgMatches) -> String {
    let mut lines = vec![];
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let Ok(Some(values)) = matches.try_get_raw(id) else { continue };
        let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
        let value = if argument.is_hide_env_values_set() { "********".to_owned() } else { values.join(",") };
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
    for (key, value) in read(path)? {
        if !knows(&command, &key) || key == FILE {
            return Err(invalid(format!("{name}: unknown setting '{key}'")));
        }
        let value = scalar(&value).ok_or_else(|| invalid(format!("{name}: '{key}' is not a plain value")))?;
        command = with_default(command, &key, &value);
    }
    Ok(command)
}

/// Whether a command, or one below it, has this setting.
fn knows(command: &Command, key: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_id() == key)
        || command.get_subcommands().any(|subcommand| knows(subcommand, key))
}

/// Gives a setting a default, in a command and in all below it.
fn with_default(mut command: Command, key: &str, value: &str) -> Command {
    if command.get_arguments().any(|argument| argument.get_id() == key) {
        command = command.mut_arg(key, |argument| {
            let secret = argument.is_hide_env_values_set();
            argument.default_value(value.to_owned()).required(false).hide_default_value(secret)
        });
    }
    let names: Vec<String> =
        command.get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |subcommand| with_default(subcommand, key, value))
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;
    use std::io::Write;

    fn command() -> Command {
        let password =
            Arg::new("password").long("password").env("MOJOSCAN_TEST_PASSWORD").hide_env_values(true);
        let nodes = Arg::new("nodes").long("nodes").value_delimiter(',').required(true);
        let ensure = Command::new("ensure").arg(nodes).arg(password).arg(Arg::new(FILE).long(FILE));
        Command::new("mojoscan").subcommand(Command::new("topics").subcommand(ensure))
    }

    fn parse_with(file: &str, arguments: &[&str]) -> Result<Parsed, Failure> {
        let mut named = tempfile::NamedTempFile::new().unwrap();
        named.write_all(file.as_bytes()).unwrap();
        let config = ["--config", named.path().to_str().unwrap()];
        let line = ["mojoscan", "topics", "ensure"].iter().chain(&config).chain(arguments);
        parse(command(), line.map(OsString::from).collect())
    }

    #[test]
    fn a_file_fills_what_the_command_line_leaves_open() {
        let file = "nodes = [\"one\", \"two\"]\npassword = \"hunter2\"\n";
        for (arguments, expected) in [
            (&[][..], "nodes = one,two  # file or default"),
            (&["--nodes", "three"], "nodes = three  # flag"),
        ] {
            let Parsed::Run(matches) = parse_with(file, arguments).unwrap() else { panic!("no run") };
            let (_, matches) = matches.subcommand().unwrap();
            let (_, matches) = matches.subcommand().unwrap();
            let command = command();
            let ensure = command.find_subcommand("topics").unwrap().find_subcommand("ensure").unwrap();
            let told = in_force(ensure, matches);
            assert!(told.contains(expected) && told.contains("password = ********"), "{told}");
        }
        let Parsed::Show(help) = parse_with(file, &["--help"]).unwrap() else { panic!("no help") };
        assert!(help.contains("one") && !help.contains("hunter2"), "{help}");
    }

    #[test]
    fn what_is_unknown_or_not_plain_is_refused() {
        for (file, reason) in [
            ("nobody = 1", "unknown setting 'nobody'"),
            ("config = \"x\"", "unknown setting 'config'"),
            ("[nodes]\nx = 1", "'nodes' is not a plain value"),
            ("nodes", "key with no value"),
        ] {
            let refused = parse_with(file, &[]).unwrap_err().to_string();
            assert!(refused.contains(reason) && refused.lines().count() == 1, "{refused}");
        }
    }
}
