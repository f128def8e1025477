//! Workers: their URLs and bootstrap ports.

use plimsoll_router::{Address, AddressError};

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

/// Reads prefill workers: each a URL, followed by its bootstrap port, by `none`, or by neither. The
/// words of all values make one sequence, so that lists in files and variables read the same way.
pub(super) fn prefills(values: &[String]) -> Result<Vec<(String, Option<u16>)>, WorkerError> {
    let mut workers = Vec::new();
    let mut words = values.iter().flat_map(|value| value.split_whitespace()).peekable();
    while let Some(word) = words.next() {
        let url = match base_url(word) {
            Err(WorkerError::Address(AddressError::NotAUrl(word))) if !word.contains("://") => {
                return Err(WorkerError::NotAPort(word));
            }
            read => read?,
        };
        let port = words.next_if(|next| is_bootstrap_port(next));
        workers.push((url, port.and_then(|port| port.parse().ok())));
    }
    Ok(workers)
}

/// Whether a word is a bootstrap port, or says that there is none.
fn is_bootstrap_port(word: &str) -> bool {
    word.eq_ignore_ascii_case("none") || word.parse::<u16>().is_ok_and(|port| port > 0)
}
