use std::time::Duration;

use crate::{
    load::{GROWTH, LOADS, Load},
    proxies::{PROXIES, Proxy},
};

/// What the bench was asked for.
#[derive(Debug)]
pub(crate) struct Args {
    /// Only the names are wanted.
    pub(crate) list: bool,
    pub(crate) rounds: usize,
    /// How long each load is measured.
    pub(crate) time: Duration,
    /// There are figures worth a table.
    pub(crate) prints: bool,
    pub(crate) loads: Vec<Load>,
    pub(crate) proxies: Vec<&'static Proxy>,
}

/// Where only whether the bench works is of interest.
const SHORT: Duration = Duration::from_millis(20);

// === impl Args ===

impl Args {
    /// Reads the command line. Options of the other benches, which `cargo bench` gives to all, are
    /// passed over.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in a sentence.
    pub(crate) fn read(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut rounds, mut time) = (3, Duration::from_secs(1));
        let (mut list, mut prints) = (false, false);
        let (mut loads, mut proxies) = (LOADS.to_vec(), PROXIES.iter().collect());
        let mut only = None;
        while let Some(option) = given.next() {
            let mut value = || given.next().ok_or(format!("{option} needs a value"));
            match option.as_str() {
                "--list" => list = true,
                "--bench" => prints = true,
                "--rounds" => rounds = number(&value()?)?,
                "--seconds" => {
                    time = Duration::try_from_secs_f64(number(&value()?)?)
                        .map_err(|error| error.to_string())?;
                }
                "--only" => proxies = named(&value()?, PROXIES.iter(), |proxy| proxy.name)?,
                "--loads" => only = Some(value()?),
                "--growth" => {
                    let study = value()?;
                    let [(_, study)] = named(&study, GROWTH.iter(), |(name, _)| name)?[..] else {
                        return Err("--growth takes one study".to_owned());
                    };
                    loads = study.to_vec();
                }
                _ => eprintln!("{option} is passed over"),
            }
        }
        if let Some(names) = only {
            loads = named(&names, loads.into_iter(), |load| load.name)?;
        }
        if loads.iter().any(|load| load.workers > 1) {
            proxies.retain(|proxy: &&Proxy| proxy.chooses);
        }
        if !prints {
            (rounds, time) = (1, SHORT);
        }
        Ok(Self { list, rounds, time, prints, loads, proxies })
    }
}

fn number<T: std::str::FromStr>(value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{value} is no number"))
}

/// Those that are named, in their own order.
fn named<T>(
    names: &str,
    all: impl Iterator<Item = T> + Clone,
    name: impl Fn(&T) -> &str,
) -> Result<Vec<T>, String> {
    let is_unknown = |wanted: &&str| !all.clone().any(|one| name(&one) == *wanted);
    if let Some(unknown) = names.split(',').find(is_unknown) {
        let all: Vec<_> = all.map(|one| name(&one).to_owned()).collect();
        return Err(format!("{unknown} is none of {}", all.join(", ")));
    }
    Ok(all.clone().filter(|one| names.split(',').any(|wanted| wanted == name(one))).collect())
}
