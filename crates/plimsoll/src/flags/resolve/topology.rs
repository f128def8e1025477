//! Which workers there are, and in which mode.

use std::collections::HashSet;

use super::checks::fault;
use crate::flags::{
    Topology, UsageError,
    error::Problem,
    place::Given,
    table::Workers,
    worker::{WorkerError, base_url, identity, prefills},
};

/// The workers in the mode asked for.
pub(super) fn topology(flags: &Workers, given: &Given) -> Result<Topology, UsageError> {
    let fault = |flag, problem| Err(fault(flag, given, problem));
    if !flags.pd_disaggregation {
        return match flags {
            _ if !flags.prefill.is_empty() => fault("prefill", Problem::NeedsPd),
            _ if !flags.decode.is_empty() => fault("decode", Problem::NeedsPd),
            _ if flags.worker_urls.is_empty() => fault("worker-urls", Problem::NoWorkers),
            _ => plain(&flags.worker_urls, given),
        };
    }
    match flags {
        _ if !flags.worker_urls.is_empty() => fault("worker-urls", Problem::PlainInPd),
        _ if flags.prefill.is_empty() => {
            fault("pd-disaggregation", Problem::MissingRole("--prefill URL [BOOTSTRAP_PORT]"))
        }
        _ if flags.decode.is_empty() => {
            fault("pd-disaggregation", Problem::MissingRole("--decode URL"))
        }
        _ => pairs(flags, given),
    }
}

fn plain(urls: &[String], given: &Given) -> Result<Topology, UsageError> {
    let urls = base_urls("worker-urls", urls, given)?;
    once(&mut HashSet::new(), "worker-urls", urls.iter(), given)?;
    Ok(Topology::Plain(urls))
}

fn pairs(flags: &Workers, given: &Given) -> Result<Topology, UsageError> {
    let prefill = prefills(&flags.prefill).map_err(|error| fault("prefill", given, error))?;
    let decode = base_urls("decode", &flags.decode, given)?;
    let mut seen = HashSet::new();
    once(&mut seen, "prefill", prefill.iter().map(|(url, _)| url), given)?;
    once(&mut seen, "decode", decode.iter(), given)?;
    Ok(Topology::Pd { prefill, decode })
}

fn base_urls(flag: &str, texts: &[String], given: &Given) -> Result<Vec<String>, UsageError> {
    let urls: Result<_, WorkerError> = texts.iter().map(|text| base_url(text)).collect();
    urls.map_err(|error| fault(flag, given, error))
}

/// Fails on a URL already `seen`.
fn once<'a>(
    seen: &mut HashSet<String>,
    flag: &str,
    mut urls: impl Iterator<Item = &'a String>,
    given: &Given,
) -> Result<(), UsageError> {
    match urls.find(|url| !seen.insert(identity(url))) {
        Some(url) => Err(fault(flag, given, Problem::Twice(url.clone()))),
        None => Ok(()),
    }
}
