//! From the words of the command line to a command.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

use clap::{ArgMatches, CommandFactory, Parser, error::ErrorKind, parser::ValueSource};

use super::{
    Command, Kv, Launch, UsageError, config, environment,
    error::Problem,
    layer::Setting,
    place::{Given, Place},
    secret::without_user_info,
    syntax::Syntax,
    table::{Flags, refused},
};

/// Reads the command line (without the program's name), and for the router also the environment
/// and the file named by `--config`.
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Command, UsageError> {
    let words = texts(arguments)?;
    match words.split_first() {
        Some((first, rest)) if !first.starts_with('-') => match first.as_str() {
            "launch" => launch(rest, variables),
            "demo" => small(rest, Command::Demo),
            "sim" => small(rest, Command::Sim),
            "help" => Ok(Command::Print(Flags::command().render_help().to_string())),
            "kv" => small(rest, Command::Kv).and_then(with_usable_key),
            "check" => check(rest, variables),
            _ => Err(UsageError::NoSuchCommand(without_user_info(first))),
        },
        _ => launch(&words, variables),
    }
}

fn texts(arguments: impl IntoIterator<Item = OsString>) -> Result<Vec<String>, UsageError> {
    let text = |(index, word): (usize, OsString)| {
        word.into_string().map_err(|_| UsageError::NotText(format!("argument {}", index + 1)))
    };
    arguments.into_iter().enumerate().map(text).collect()
}

/// Reads a command that has neither file nor environment.
fn small<C: Parser>(words: &[String], wrap: fn(C) -> Command) -> Result<Command, UsageError> {
    C::try_parse_from(words).map(wrap).or_else(|error| stopped(&error, words))
}

/// Turns away a key that no header can carry.
fn with_usable_key(command: Command) -> Result<Command, UsageError> {
    match &command {
        Command::Kv(Kv { worker_api_key: Some(key), .. }) if !key.is_usable() => {
            let (place, problem) = (Place::flag("worker-api-key"), Problem::Key);
            Err(UsageError::Flag { place, problem })
        }
        _ => Ok(command),
    }
}

/// Reads the router's flags once for each file named before them, or once without any.
fn check(
    words: &[String],
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Command, UsageError> {
    let is_flag = |word: &String| word.starts_with('-');
    let (files, flags) = words.split_at(words.iter().position(is_flag).unwrap_or(words.len()));
    let names_file = |word: &String| word == "--config" || word.starts_with("--config=");
    if !files.is_empty() && flags.iter().any(names_file) {
        let (place, problem) = (Place::flag("config"), Problem::FileBesideFiles);
        return Err(UsageError::Flag { place, problem });
    }
    let variables: Vec<_> = variables.into_iter().collect();
    let with_file = |file: &String| {
        std::iter::once(format!("--config={file}")).chain(flags.iter().cloned()).collect()
    };
    let mut lines: Vec<Vec<_>> = files.iter().map(with_file).collect();
    if lines.is_empty() {
        lines.push(flags.to_vec());
    }
    let mut launches = Vec::with_capacity(lines.len());
    for line in lines {
        match launch(&line, variables.iter().cloned())? {
            Command::Launch(launch) => launches.push(*launch),
            other => return Ok(other),
        }
    }
    Ok(Command::Check(launches))
}

/// What clap stopped at: a request for help or the version, or an error.
fn stopped(error: &clap::Error, words: &[String]) -> Result<Command, UsageError> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Command::Print(error.to_string())),
        _ => Err(Syntax::new(error, words).into()),
    }
}

/// Reads the router's flags. Of each flag only the setting that counts is kept; file and
/// environment are put in front of the command line as words that say the same.
fn launch(
    words: &[String],
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Command, UsageError> {
    refuse(words)?;
    let mut command = Flags::command();
    let on_line = match command.try_get_matches_from_mut(words) {
        Ok(matches) => matches,
        Err(error) => return stopped(&error, words),
    };
    let environment = environment::settings(&mut command, variables)?;
    if words.is_empty() && environment.is_empty() {
        return Err(UsageError::Nothing);
    }
    let file = match config_file(&on_line, &environment) {
        Some((path, named_at)) => config::settings(&mut command, &path, named_at)?,
        None => Vec::new(),
    };
    let on_line = flags_in(&command, &on_line);
    let below: BTreeMap<_, _> = file
        .into_iter()
        .chain(environment)
        .filter(|setting| !on_line.contains(&setting.flag))
        .map(|setting| (setting.flag.clone(), setting))
        .collect();
    let all: Vec<_> = below.values().flat_map(|setting| &setting.words).chain(words).collect();
    let flags = Flags::try_parse_from(all).map_err(|error| Syntax::new(&error, words))?;
    let on_line = on_line.into_iter().map(|flag| (flag.clone(), Place::CommandLine { flag }));
    let given: Given =
        below.into_iter().map(|(flag, setting)| (flag, setting.place)).chain(on_line).collect();
    Ok(Command::Launch(Box::new(Launch { flags, given })))
}

/// Turns away known flags before the table is asked, so that it does not matter what follows them.
fn refuse(words: &[String]) -> Result<(), UsageError> {
    for word in words {
        let Some(flag) = word.strip_prefix("--").and_then(|flag| flag.split('=').next()) else {
            continue;
        };
        if let Some(instead) = refused(flag) {
            let (place, problem) = (Place::flag(flag), Problem::Refused(instead));
            return Err(UsageError::Flag { place, problem });
        }
    }
    Ok(())
}

/// The configuration file, and where it was named.
fn config_file(on_line: &ArgMatches, environment: &[Setting]) -> Option<(PathBuf, Place)> {
    if let Some(path) = on_line.get_one::<PathBuf>("config") {
        return Some((path.clone(), Place::flag("config")));
    }
    let setting = environment.iter().find(|setting| setting.flag == "config")?;
    let path = setting.words.first()?.strip_prefix("--config=")?;
    Some((path.into(), setting.place.clone()))
}

/// The flags that stand on the command line, without dashes.
fn flags_in(command: &clap::Command, matches: &ArgMatches) -> Vec<String> {
    command
        .get_arguments()
        .filter(|argument| {
            matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
        })
        .filter_map(|argument| argument.get_long().map(str::to_owned))
        .collect()
}
