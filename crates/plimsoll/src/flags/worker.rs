//! Workers: their URLs or names, and bootstrap ports.

use plimsoll_router::{Address, AddressError};
use plimsoll_wire::Role;

use super::{WorkerName, secret::without_user_info};

/// Why a word does not name a worker.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    /// Not a base URL.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Neither a URL nor the port of the URL before.
    #[error(
        "{0:?} is neither a worker URL nor a bootstrap port; expected \
         http://HOST[:PORT] [1..65535|none]"
    )]
    NotAPort(String),
    /// Neither a name with its port nor the bootstrap port of the name before.
    #[error("{0:?} is no name of workers; expected NAME:PORT, without http://")]
    NotAName(String),
}

/// Reads a worker's base URL: as written, but without a slash at the end.
pub(super) fn base_url(text: &str) -> Result<String, WorkerError> {
    Ok(Address::read(text)?.url().to_string())
}

/// Whether two URLs name the same worker, however they spell it.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    match (Address::read(one), Address::read(other)) {
        (Ok(one), Ok(other)) => one.is_same(&other),
        _ => false,
    }
}

/// Reads prefill workers: each a URL and maybe its bootstrap port.
pub(super) fn prefills(values: &[String]) -> Result<Vec<(String, Option<u16>)>, WorkerError> {
    with_ports(values, |word| match base_url(word) {
        Err(WorkerError::Address(AddressError::NotAUrl(word))) if !word.contains("://") => {
            Err(WorkerError::NotAPort(word))
        }
        read => read,
    })
}

/// Reads names of workers, each with its port and maybe a bootstrap port.
pub(super) fn names(values: &[String], role: Role) -> Result<Vec<WorkerName>, WorkerError> {
    let names = with_ports(values, |word| name(word, role))?;
    let names = names.into_iter();
    Ok(names.map(|(name, bootstrap_port)| WorkerName { bootstrap_port, ..name }).collect())
}

fn name(word: &str, role: Role) -> Result<WorkerName, WorkerError> {
    let parts = word.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    match parts {
        // The URL tells what a host is.
        Some((host, port)) if port > 0 && base_url(&format!("http://{host}:{port}")).is_ok() => {
            Ok(WorkerName { host: host.to_owned(), port, role, bootstrap_port: None })
        }
        _ => Err(WorkerError::NotAName(without_user_info(word))),
    }
}

/// Reads workers, each followed by its bootstrap port, by `none`, or by neither. The words of all
/// values make one sequence, so that lists in files and variables read the same way.
fn with_ports<T>(
    values: &[String],
    read: impl Fn(&str) -> Result<T, WorkerError>,
) -> Result<Vec<(T, Option<u16>)>, WorkerError> {
    let mut workers = Vec::new();
    let mut words = values.iter().flat_map(|value| value.split_whitespace()).peekable();
    while let Some(word) = words.next() {
        let worker = read(word)?;
        let port = words.next_if(|next| is_bootstrap_port(next));
        workers.push((worker, port.and_then(|port| port.parse().ok())));
    }
    Ok(workers)
}

/// Whether a word is a bootstrap port, or says that there is none.
fn is_bootstrap_port(word: &str) -> bool {
    word.eq_ignore_ascii_case("none") || word.parse::<u16>().is_ok_and(|port| port > 0)
}
