//! The binary: the router, the demo, the simulated engines, and looks at real ones.

mod check;
mod dashboard;
mod demo;
mod flags;
mod kv;
mod logs;
mod serve;
mod sim;
#[cfg(feature = "tls")]
mod tls;
mod upstream;

use std::{env, error::Error, io, process::ExitCode};

use self::{flags::Command, serve::Reload};

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        // Nobody reads on, as behind `| head`.
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("plimsoll: {error}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
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
        Command::Print(text) => print!("{text}"),
    }
    Ok(ExitCode::SUCCESS)
}
