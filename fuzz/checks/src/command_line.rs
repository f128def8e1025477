//! Whatever is written on the command line, in the environment and in the file: it is taken or
//! refused in one line, the same each time, and a key is in none of what is said.
//!
//! Each line is an argument; behind `env` and a blank it is a variable; behind the line `toml` the
//! rest is the file.

use std::{env, ffi::OsString, fs, process};

use crate::flags::{self, Command, UsageError};

/// A key that is always given.
const KEY: &str = "sk-unseen-4711";

/// # Panics
///
/// If it does not hold.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // Who writes it elsewhere may see it there. Files are read, whatever they are: not these.
    if text.contains("unseen") || text.contains("config") || text.starts_with("check") {
        return;
    }
    let (lines, file) = text.split_once("toml\n").map_or((&*text, None), |(a, b)| (a, Some(b)));
    let (mut words, mut variables) = (Vec::<OsString>::new(), Vec::<(OsString, OsString)>::new());
    for line in lines.lines() {
        match line.strip_prefix("env ").and_then(|variable| variable.split_once('=')) {
            Some((name, value)) => variables.push((name.into(), value.into())),
            None => words.push(line.into()),
        }
    }
    variables.push(("PLIMSOLL_WORKER_API_KEY".into(), KEY.into()));
    if let Some(file) = file {
        let path = env::temp_dir().join(format!("plimsoll-fuzz-{}.toml", process::id()));
        fs::write(&path, file).expect("a place for files");
        variables.push(("PLIMSOLL_CONFIG".into(), path.into()));
    }
    let said = run(&words, &variables);
    assert!(!said.contains(KEY), "{said}");
    assert_eq!(run(&words, &variables), said);
}

/// What is made of it, in words.
fn run(words: &[OsString], variables: &[(OsString, OsString)]) -> String {
    match flags::parse(words.to_vec(), variables.to_vec()) {
        Ok(Command::Launch(launch)) => match flags::resolve(&launch) {
            Ok(settings) => format!("{launch:?} {settings:?} {:?}", settings.warnings),
            Err(error) => refusal(&error),
        },
        Ok(other) => format!("{other:?}"),
        Err(error) => refusal(&error),
    }
}

fn refusal(error: &UsageError) -> String {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
    format!("{text} {error:?}")
}
