//! The binary: for now it reads its flags and prints what they mean.

#[cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "the assembly that uses every setting comes next")
)]
mod flags;
mod logs;

use std::process::ExitCode;

use flags::Command;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("plimsoll: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    match flags::parse(std::env::args_os().skip(1), std::env::vars_os())? {
        Command::Launch(launch) => {
            let settings = flags::resolve(&launch)?;
            let _guard = logs::start(settings.log_level, settings.log_dir.as_deref())?;
            for warning in &settings.warnings {
                tracing::warn!("{warning}");
            }
            println!("{settings:#?}");
        }
        Command::Print(text) => print!("{text}"),
        other => println!("{other:#?}"),
    }
    Ok(())
}
