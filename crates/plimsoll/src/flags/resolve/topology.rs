//! Which workers there are, and in which mode.

use plimsoll_router::Address;
use plimsoll_wire::Role;

use super::checks::fault;
use crate::flags::{
    Topology, UsageError, WorkerName,
    error::Problem,
    place::Given,
    table::Workers,
    worker::{WorkerError, base_url, names, prefills},
};

/// The workers in the mode asked for. Of the roles in `found` there may be none: they come.
pub(super) fn topology(
    flags: &Workers,
    found: &[Role],
    given: &Given,
) -> Result<Topology, UsageError> {
    let fault = |flag, problem| Err(fault(flag, given, problem));
    let comes = |role, names: &[String]| found.contains(&role) || !names.is_empty();
    if !flags.pd_disaggregation {
        return match flags {
            _ if !flags.prefill.is_empty() => fault("prefill", Problem::NeedsPd),
            _ if !flags.decode.is_empty() => fault("decode", Problem::NeedsPd),
            _ if !flags.prefill_dns.is_empty() => fault("prefill-dns", Problem::NeedsPd),
            _ if !flags.decode_dns.is_empty() => fault("decode-dns", Problem::NeedsPd),
            _ if flags.worker_urls.is_empty() && !comes(Role::Plain, &[]) => {
                fault("worker-urls", Problem::NoWorkers)
            }
            _ => plain(&flags.worker_urls, given),
        };
    }
    match flags {
        _ if !flags.worker_urls.is_empty() => fault("worker-urls", Problem::PlainInPd),
        _ if flags.prefill.is_empty() && !comes(Role::Prefill, &flags.prefill_dns) => fault(
            "pd-disaggregation",
            Problem::MissingRole("--prefill URL [BOOTSTRAP_PORT], or --prefill-dns"),
        ),
        _ if flags.decode.is_empty() && !comes(Role::Decode, &flags.decode_dns) => {
            fault("pd-disaggregation", Problem::MissingRole("--decode URL, or --decode-dns"))
        }
        _ => pairs(flags, given),
    }
}

/// The workers that are found by name.
pub(super) fn worker_names(flags: &Workers, given: &Given) -> Result<Vec<WorkerName>, UsageError> {
    let prefill = names(&flags.prefill_dns, Role::Prefill);
    let mut all = prefill.map_err(|error| fault("prefill-dns", given, error))?;
    let decode = names(&flags.decode_dns, Role::Decode);
    let decode = decode.map_err(|error| fault("decode-dns", given, error))?;
    match decode.iter().find(|name| name.bootstrap_port.is_some()) {
        Some(_) => return Err(fault("decode-dns", given, Problem::NoBootstrapPort)),
        None => all.extend(decode),
    }
    let mut seen = Vec::new();
    for WorkerName { host, port, role, .. } in &all {
        if seen.contains(&(host, port)) {
            let flag = if *role == Role::Prefill { "prefill-dns" } else { "decode-dns" };
            return Err(fault(flag, given, Problem::Twice(format!("{host}:{port}"))));
        }
        seen.push((host, port));
    }
    Ok(all)
}

fn plain(urls: &[String], given: &Given) -> Result<Topology, UsageError> {
    let urls = base_urls("worker-urls", urls, given)?;
    once(urls.iter().map(|url| ("worker-urls", url)), given)?;
    Ok(Topology::Plain(urls))
}

fn pairs(flags: &Workers, given: &Given) -> Result<Topology, UsageError> {
    let prefill = prefills(&flags.prefill).map_err(|error| fault("prefill", given, error))?;
    let decode = base_urls("decode", &flags.decode, given)?;
    let all = prefill.iter().map(|(url, _)| ("prefill", url));
    once(all.chain(decode.iter().map(|url| ("decode", url))), given)?;
    Ok(Topology::Pd { prefill, decode })
}

fn base_urls(flag: &str, texts: &[String], given: &Given) -> Result<Vec<String>, UsageError> {
    let urls: Result<_, WorkerError> = texts.iter().map(|text| base_url(text)).collect();
    urls.map_err(|error| fault(flag, given, error))
}

/// Fails on a worker that was named before.
fn once<'a>(
    urls: impl Iterator<Item = (&'static str, &'a String)>,
    given: &Given,
) -> Result<(), UsageError> {
    let mut seen: Vec<Address> = Vec::new();
    for (flag, url) in urls {
        let address = Address::read(url).map_err(|error| fault(flag, given, error))?;
        if seen.iter().any(|other| other.is_same(&address)) {
            return Err(fault(flag, given, Problem::Twice(url.clone())));
        }
        seen.push(address);
    }
    Ok(())
}
