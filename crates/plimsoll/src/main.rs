//! The binary: the router, the demo, the simulated engines, and looks at real ones.

mod check;
mod demo;
mod flags;
mod kv;
mod logs;
mod serve;
mod sim;

use std::{error::Error, process::ExitCode};

use self::flags::Command;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("plimsoll: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    match flags::parse(std::env::args_os().skip(1), std::env::vars_os())? {
        Command::Launch(launch) => {
            let settings = flags::resolve(&launch)?;
            let _guard = logs::start(settings.log_level, settings.log_dir.as_deref())?;
            for warning in &settings.warnings {
                tracing::warn!("{warning}");
            }
            serve::run(settings)?;
        }
        Command::Demo(demo) => return Ok(demo::run(&demo)?),
        Command::Sim(sim) => sim::run(&sim)?,
        Command::Kv(kv) => return Ok(kv::run(&kv)?),
        Command::Check(launches) => return check::run(&launches),
        Command::Print(text) => print!("{text}"),
    }
    Ok(ExitCode::SUCCESS)
}
