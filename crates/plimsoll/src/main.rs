//! The binary: the router, the demo, the simulated engines, and looks at real ones.

mod check;
mod dashboard;
mod demo;
mod flags;
mod kv;
mod logs;
mod output;
mod serve;
mod sim;
#[cfg(feature = "tls")]
mod tls;
mod upstream;

use std::{env, error::Error, process::ExitCode};

use self::{flags::Command, serve::Reload};

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
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let variables: Vec<_> = env::vars_os().collect();
    match flags::parse(arguments.clone(), variables.clone())? {
        Command::Launch(launch) => {
            let settings = flags::resolve(&launch)?;
            let logs = logs::start(settings.log_level, settings.log_dir.as_deref())?;
            for warning in &settings.warnings {
                tracing::warn!("{warning}");
            }
            let reload = Reload::new(arguments, variables, logs, &settings);
            serve::run(settings, reload)?;
        }
        Command::Demo(demo) => return Ok(demo::run(&demo)?),
        Command::Sim(sim) => sim::run(&sim)?,
        Command::Kv(kv) => return Ok(kv::run(&kv, &flags::kv_upstream(&kv)?)?),
        Command::Check(launches) => return check::run(&launches),
        Command::Print(text) => output::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}
