//! What proxies cost, end to end: the CPU time that each takes for a request and for a content event,
//! over sockets of the loopback, between a client and engines that are the same for all.
//!
//! The proxies take turns at each load of each round, so that what else the machine does falls on all
//! of them. Each answer is compared with what the engine sent; one that differs fails the bench.
//!
//! Without `--bench`, as `cargo test --benches` runs it, all is short and there is no table.

mod args;
mod child;
mod client;
mod cpu;
mod engine;
mod floor;
mod load;
mod proxies;
mod router;
mod table;
mod threads;

use std::{env, error::Error, process::ExitCode};

use self::{
    args::Args,
    engine::Engines,
    load::{GROWTH, LOADS, Load},
    proxies::PROXIES,
    table::Table,
};

type BoxError = Box<dyn Error + Send + Sync>;

/// The exit code of a run that gives no figures: it was asked for what there is not.
const NO_FIGURES: u8 = 2;

fn main() -> ExitCode {
    let args = match Args::read(env::args().skip(1)) {
        Ok(args) => args,
        Err(wrong) => return without_figures(&wrong),
    };
    if args.list {
        list();
        return ExitCode::SUCCESS;
    }
    if let Err(error) = cpu::of_threads(None, "") {
        return without_figures(&format!("no CPU time of threads ({error}): this needs Linux"));
    }
    match measure(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn without_figures(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(NO_FIGURES)
}

fn list() {
    let names = |loads: &[Load]| loads.iter().map(|load| load.name).collect::<Vec<_>>().join(",");
    println!("--only {}", PROXIES.each_ref().map(|proxy| proxy.name).join(","));
    println!("--loads {}", names(&LOADS));
    for (study, loads) in GROWTH {
        println!("--growth {study} --loads {}", names(loads));
    }
}

/// Runs all rounds and prints the tables.
fn measure(args: Args) -> Result<(), BoxError> {
    let Args { rounds, time, prints, mut loads, mut proxies, .. } = args;
    proxies.retain(|proxy| is_there(proxy.name, (proxy.missing)()));
    loads.retain(|load| is_there(load.name, load.missing()));
    let engines = Engines::start(loads.iter().map(|load| load.workers).max().unwrap_or(1))?;
    let mut table = Table::new(&proxies, &loads);
    for round in 0..rounds {
        for (column, load) in loads.iter().enumerate() {
            eprintln!("round {} of {rounds}: {}", round + 1, load.name);
            for turn in 0..proxies.len() {
                // Each round begins with another one.
                let row = (turn + round) % proxies.len();
                let proxy = proxies[row];
                let figure = load
                    .measure(proxy, &engines, time)
                    .map_err(|error| format!("{}, {}: {error}", proxy.name, load.name))?;
                table.add(row, column, figure);
            }
        }
    }
    if prints {
        println!("{table}");
    }
    Ok(())
}

/// Says so where something is left out.
fn is_there(name: &str, missing: Option<String>) -> bool {
    if let Some(why) = &missing {
        println!("{name} is left out: {why}");
    }
    missing.is_none()
}
