//! Workers: their URLs and bootstrap ports.

use http::Uri;

/// Why a word does not name a worker.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    /// Not `http://HOST[:PORT]`.
    #[error("{0:?} is no worker URL; expected http://HOST[:PORT], IPv6 hosts in brackets")]
    NotAUrl(String),
    /// A scheme that needs TLS.
    #[error(
        "{0:?} needs the cargo feature `tls`, which this build lacks; expected http://HOST[:PORT]"
    )]
    Tls(String),
    /// More than scheme, host and port.
    #[error("{0:?} has more than scheme, host and port; expected http://HOST[:PORT]")]
    TooMuch(String),
    /// A user name or password; not shown.
    #[error("the URL of {0:?} holds a user name; leave it out, and use --worker-api-key")]
    UserInfo(String),
    /// Neither a URL nor the port of the URL before.
    #[error(
        "{0:?} is neither a worker URL nor a bootstrap port; expected \
         http://HOST[:PORT] [1..65535|none]"
    )]
    NotAPort(String),
}

/// Reads a worker's base URL: as written, but without a slash at the end.
pub(super) fn base_url(text: &str) -> Result<String, WorkerError> {
    if let Some((_, host)) = text.rsplit_once('@') {
        return Err(WorkerError::UserInfo(host.to_owned()));
    }
    let base = text.strip_suffix('/').unwrap_or(text);
    let fault = |kind: fn(String) -> WorkerError| kind(text.to_owned());
    let uri: Uri = base.parse().map_err(|_| fault(WorkerError::NotAUrl))?;
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => return Err(fault(WorkerError::Tls)),
        _ => return Err(fault(WorkerError::NotAUrl)),
    }
    let authority = uri.authority().ok_or_else(|| fault(WorkerError::NotAUrl))?;
    let named_port = authority.as_str().len() > authority.host().len();
    if authority.host().is_empty() || (named_port && uri.port_u16().is_none_or(|port| port == 0)) {
        return Err(fault(WorkerError::NotAUrl));
    }
    if base.len() > "http://".len() + authority.as_str().len() {
        return Err(fault(WorkerError::TooMuch));
    }
    Ok(base.to_owned())
}

/// What two spellings of one worker's URL have in common.
pub(super) fn identity(base_url: &str) -> String {
    let mut identity = base_url.to_ascii_lowercase();
    if let Some(length) = identity.strip_suffix(":80").map(str::len) {
        identity.truncate(length);
    }
    identity
}

/// Reads prefill workers: each a URL, followed by its bootstrap port, by `none`, or by neither. The
/// words of all values make one sequence, so that lists in files and variables read the same way.
pub(super) fn prefills(values: &[String]) -> Result<Vec<(String, Option<u16>)>, WorkerError> {
    let mut workers = Vec::new();
    let mut words = values.iter().flat_map(|value| value.split_whitespace()).peekable();
    while let Some(word) = words.next() {
        let url = match base_url(word) {
            Err(WorkerError::NotAUrl(word)) if !word.contains("://") => {
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
