//! Checks of single flags that need more than a range.

use std::net::IpAddr;

use http::HeaderName;

use crate::flags::{
    Flags, Listen, Secret, UsageError,
    error::Problem,
    place::Given,
    table::{Backend, HistoryBackend, Listeners, Policy},
};

const HISTORY: &str = "only none and memory are supported: keep conversations in the client, or in \
     a service in front";
const OPENAI: &str = "only sglang is supported: point clients of OpenAI at OpenAI itself";
const POLICY: &str = "manual and bucket are not supported: choose another policy";

/// An error about `flag` that says where it was set.
pub(super) fn fault(flag: &str, given: &Given, problem: impl Into<Problem>) -> UsageError {
    UsageError::Flag { place: given.place(flag), problem: problem.into() }
}

/// Turns away the choices of the SGLang router that are not offered.
pub(super) fn choices(flags: &Flags, given: &Given) -> Result<(), UsageError> {
    for (flag, policy) in flags.policies.given() {
        if matches!(policy, Policy::Manual | Policy::Bucket) {
            return Err(fault(flag, given, Problem::Refused(POLICY)));
        }
    }
    if flags.compat.backend == Some(Backend::Openai) {
        return Err(fault("backend", given, Problem::Refused(OPENAI)));
    }
    match flags.compat.history_backend {
        None | Some(HistoryBackend::None | HistoryBackend::Memory) => Ok(()),
        Some(_) => Err(fault("history-backend", given, Problem::Refused(HISTORY))),
    }
}

/// Both addresses to listen on.
pub(super) fn listeners(flags: &Listeners, given: &Given) -> Result<(Listen, Listen), UsageError> {
    let clients = listen("host", &flags.host, flags.port, given)?;
    let metrics = listen("prometheus-host", &flags.prometheus_host, flags.prometheus_port, given)?;
    let everywhere = |host: &str| host.parse().is_ok_and(|host: IpAddr| host.is_unspecified());
    let overlap = clients.host.eq_ignore_ascii_case(&metrics.host)
        || everywhere(&clients.host)
        || everywhere(&metrics.host);
    if clients.port == metrics.port && clients.port != 0 && overlap {
        return Err(fault("prometheus-port", given, Problem::PortClash(metrics.port)));
    }
    Ok((clients, metrics))
}

fn listen(flag: &str, host: &str, port: u16, given: &Given) -> Result<Listen, UsageError> {
    let bare = Listen::bare(host);
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
    };
    if bare.parse::<IpAddr>().is_err() && !is_name(host) {
        return Err(fault(flag, given, Problem::Host(host.to_owned())));
    }
    Ok(Listen { host: bare.to_owned(), port })
}

/// A key that a header can carry.
pub(super) fn key(
    flag: &str,
    key: Option<&Secret>,
    given: &Given,
) -> Result<Option<Secret>, UsageError> {
    match key {
        Some(key) if !key.is_usable() => Err(fault(flag, given, Problem::Key)),
        key => Ok(key.cloned()),
    }
}

/// A path on a worker.
pub(super) fn path(flag: &str, path: &str, given: &Given) -> Result<String, UsageError> {
    if path.starts_with('/') && path.parse::<http::uri::PathAndQuery>().is_ok() {
        return Ok(path.to_owned());
    }
    Err(fault(flag, given, Problem::Path(path.to_owned())))
}

/// The headers that may bring a request's id.
pub(super) fn headers(names: &[String], given: &Given) -> Result<Vec<HeaderName>, UsageError> {
    let header = |name: &String| {
        let problem = |_| fault("request-id-headers", given, Problem::Header(name.clone()));
        name.parse().map_err(problem)
    };
    names.iter().map(header).collect()
}

/// The bucket bounds, if any are given.
pub(super) fn rising(bounds: &[f64], given: &Given) -> Result<Option<Vec<f64>>, UsageError> {
    let flag = "prometheus-duration-buckets";
    match bounds.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(fault(flag, given, Problem::Buckets(pair[0], pair[1]))),
        None => Ok((!bounds.is_empty()).then(|| bounds.to_vec())),
    }
}
