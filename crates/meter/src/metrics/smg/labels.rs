//! The label values of the SGLang router, each from a bounded set.

use http::Method;
use plimsoll_wire::{Endpoint, Role};

use crate::{Outcome, Record};

const METHODS: [&str; 9] =
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE"];

pub(super) fn method(method: &Method) -> &'static str {
    METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

/// The usual path of an endpoint. A client's own path could be anything.
pub(super) fn path(endpoint: Endpoint) -> &'static str {
    endpoint.usual_path().unwrap_or("other")
}

pub(super) fn worker_type(role: Role) -> &'static str {
    match role {
        Role::Prefill => "prefill",
        Role::Decode => "decode",
        Role::Plain => "regular",
    }
}

/// Empty for an answer that is no error.
pub(super) fn error_code(record: &Record, status: u16) -> &'static str {
    if status < 400 { "" } else { record.outcome.as_str() }
}

/// Who is to blame; nobody for a client that left.
pub(super) fn error_type(record: &Record) -> Option<&'static str> {
    match (record.outcome, record.status) {
        (Outcome::Complete | Outcome::ClientDisconnect, _) => None,
        (Outcome::ClientError, _) | (Outcome::Rejected, Some(501)) => Some("validation_error"),
        (Outcome::Rejected, _) => Some("no_workers"),
        (Outcome::UpstreamError, Some(504)) => Some("timeout"),
        (Outcome::UpstreamError | Outcome::Truncated, _) => Some("backend_error"),
    }
}
