//! Responses with the heads uvicorn sends, header for header.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, DATE, SERVER, VARY},
};

use super::body::SimBody;
use crate::clock;

/// An answer of an engine.
pub(crate) type Reply = Response<SimBody>;

/// A JSON answer.
pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Reply {
    whole(status, Some("application/json"), body.into(), &[])
}

/// A plain answer: `/health`, `/flush_cache`, which name no type, and `/metrics`.
pub(crate) fn plain(
    kind: Option<&'static str>,
    status: StatusCode,
    body: impl Into<Bytes>,
) -> Reply {
    whole(status, kind, body.into(), &[])
}

/// Starlette's own errors: `{"detail":"Not Found"}`.
pub(crate) fn detail(status: StatusCode, allow: Option<&'static str>) -> Reply {
    let reason = status.canonical_reason().unwrap_or_default();
    let allow = allow.map(|allow| (ALLOW, HeaderValue::from_static(allow)));
    let body = format!("{{\"detail\":\"{reason}\"}}");
    whole(status, Some("application/json"), body.into(), allow.as_slice())
}

/// A stream of events.
pub(crate) fn events(body: SimBody) -> Reply {
    let mut headers = head();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(VARY, HeaderValue::from_static("Origin"));
    respond(StatusCode::OK, headers, body)
}

/// An answer made up by a fault.
pub(crate) fn faulty(status: StatusCode, extra: &[(String, String)], body: Bytes) -> Reply {
    let parsed = extra.iter().filter_map(|(name, value)| {
        Some((name.parse::<HeaderName>().ok()?, HeaderValue::from_str(value).ok()?))
    });
    let extra: Vec<_> = parsed.collect();
    let typed = extra.iter().any(|(name, _)| name == CONTENT_TYPE);
    whole(status, (!typed).then_some("application/json"), body, &extra)
}

fn whole(
    status: StatusCode,
    kind: Option<&'static str>,
    body: Bytes,
    extra: &[(HeaderName, HeaderValue)],
) -> Reply {
    let mut headers = head();
    headers.extend(extra.iter().cloned());
    headers.insert(CONTENT_LENGTH, body.len().into());
    if let Some(kind) = kind {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    headers.insert(VARY, HeaderValue::from_static("Origin"));
    respond(status, headers, SimBody::whole(body))
}

fn head() -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(6);
    if let Ok(date) = HeaderValue::try_from(clock::http_date(clock::unix_seconds())) {
        headers.insert(DATE, date);
    }
    headers.insert(SERVER, HeaderValue::from_static("uvicorn"));
    headers
}

fn respond(status: StatusCode, headers: HeaderMap, body: SimBody) -> Reply {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
