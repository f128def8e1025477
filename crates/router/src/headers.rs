//! Which headers go on, in both directions.

use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Version, header};
use plimsoll_wire::reply;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Headers that speak of one connection only (RFC 9110, section 7.6.1).
static HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Headers of a request that are the router's own to say: it has another peer, another body, and
/// reads the answer; and it has met the client's expectation by reading its body.
static OWN: [HeaderName; 4] =
    [header::HOST, header::CONTENT_LENGTH, header::ACCEPT_ENCODING, header::EXPECT];

/// Headers that steer an engine, as the fields of the same meaning do.
const STEERING_PREFIX: &str = "x-override-bootstrap-";
const STEERING: &str = "x-data-parallel-rank";

/// The first header that steers the engine.
pub(crate) fn steering(headers: &HeaderMap) -> Option<&str> {
    let mut names = headers.keys().map(HeaderName::as_str);
    names.find(|name| *name == STEERING || name.starts_with(STEERING_PREFIX))
}

/// Whether they name more than one host (RFC 9112, section 3.2: such a request is refused).
pub(crate) fn names_hosts(headers: &HeaderMap) -> bool {
    headers.get_all(header::HOST).iter().nth(1).is_some()
}

/// A transfer coding other than chunks, which end where hyper found the end: what they hold would not
/// be the body.
pub(crate) fn odd_transfer_coding(headers: &HeaderMap) -> Option<&HeaderValue> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let first = codings.next()?;
    let is_chunks = first.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    codings.next().or(Some(first).filter(|_| !is_chunks))
}

/// Headers by which clients name their session, most telling first: that of the SGLang router and
/// those of vLLM's.
static SESSION: [HeaderName; 4] = [
    HeaderName::from_static("x-smg-routing-key"),
    HeaderName::from_static("x-session-id"),
    HeaderName::from_static("x-user-id"),
    HeaderName::from_static("x-tenant-id"),
];

/// What the client's session goes by, if the client says so; an empty name is none.
pub(crate) fn session(headers: &HeaderMap) -> Option<&HeaderValue> {
    SESSION.iter().filter_map(|name| headers.get(name)).find(|name| !name.is_empty())
}

/// Whether the body behind these headers is a stream of events that can be read.
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    let encodings = headers.get_all(header::CONTENT_ENCODING).iter().map(HeaderValue::as_bytes);
    content_type.is_some_and(|value| reply::is_event_stream(value.as_bytes()))
        && !reply::is_encoded(encodings)
}

/// Leaves of a client's headers those that a worker is to get. A key among them is not shown by
/// whoever prints them.
pub(crate) fn for_worker(headers: &mut HeaderMap, authorization: Option<&HeaderValue>) {
    remove(headers, |name| is_hop_by_hop(name) || OWN.contains(name));
    if let Some(key) = authorization {
        headers.insert(header::AUTHORIZATION, key.clone());
    } else if let Some(key) = headers.get_mut(header::AUTHORIZATION) {
        key.set_sensitive(true);
    }
}

/// Leaves of an answer's head what says nothing of the connection to the worker.
pub(crate) fn for_client<B>(answer: &mut Response<B>) {
    let is_empty = answer.status() == StatusCode::NO_CONTENT;
    let headers = answer.headers_mut();
    // Where chunks are given they count, and a length is none (RFC 9112, section 6.3). An empty answer
    // may not have one, and a stream that fails ends by an event that the worker did not count.
    if is_empty || headers.contains_key(header::TRANSFER_ENCODING) || is_event_stream(headers) {
        headers.remove(header::CONTENT_LENGTH);
    }
    remove(headers, is_hop_by_hop);
    *answer.version_mut() = Version::HTTP_11;
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    HOP_BY_HOP.contains(name)
}

/// Takes the headers out that `is_out`, and those that `connection` names. Most heads have few, so
/// what is there is looked at instead of looking for each that could be.
fn remove(headers: &mut HeaderMap, is_out: impl Fn(&HeaderName) -> bool) {
    let named = headers.get_all(header::CONNECTION).iter().flat_map(|value| {
        let names = value.to_str().unwrap_or_default().split(',');
        names.filter_map(|name| HeaderName::try_from(name.trim()).ok())
    });
    let out: Vec<_> = named.chain(headers.keys().filter(|name| is_out(name)).cloned()).collect();
    for name in out {
        headers.remove(name);
    }
}

/// The request's id: as the client names it in `x-request-id`, else in the first of `names` that it
/// sent, else a new one; an empty name is none. It is left in the headers as `x-request-id`.
pub(crate) fn request_id(headers: &mut HeaderMap, names: &[HeaderName]) -> HeaderValue {
    let named = |name: &HeaderName| headers.get(name).filter(|id| !id.is_empty()).cloned();
    if let Some(id) = named(&REQUEST_ID) {
        return id;
    }
    let id = names.iter().find_map(named).unwrap_or_else(new_id);
    headers.insert(REQUEST_ID, id.clone());
    id
}

fn new_id() -> HeaderValue {
    let id = format!("{:032x}", fastrand::u128(..));
    HeaderValue::from_str(&id).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue};

    use super::{REQUEST_ID, for_worker, request_id, steering};

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn what_a_worker_gets() {
        let mut given = headers(&[
            ("host", "router:30001"),
            ("connection", "keep-alive, X-Mine, close"),
            ("x-mine", "1"),
            ("te", "trailers"),
            ("content-length", "2"),
            ("accept-encoding", "gzip"),
            ("authorization", "Bearer theirs"),
            ("traceparent", "00-1-2-01"),
            ("x-unknown", "kept"),
        ]);
        let mut with_key = given.clone();
        for_worker(&mut given, None);
        let kept = [
            ("authorization", "Bearer theirs"),
            ("traceparent", "00-1-2-01"),
            ("x-unknown", "kept"),
        ];
        assert_eq!(given, headers(&kept));
        for_worker(&mut with_key, Some(&HeaderValue::from_static("Bearer ours")));
        assert_eq!(with_key["authorization"], "Bearer ours");
    }

    #[test]
    fn ids_are_kept_or_made() {
        let names = [REQUEST_ID, HeaderName::from_static("x-trace-id")];
        let mut own = headers(&[("x-request-id", "a"), ("x-trace-id", "b")]);
        assert_eq!(request_id(&mut own, &names), "a");
        let mut other = headers(&[("x-trace-id", "b")]);
        assert_eq!(
            (request_id(&mut other, &names), &other[REQUEST_ID]),
            ("b".try_into().unwrap(), &"b".try_into().unwrap())
        );
        let mut empty = headers(&[("x-request-id", ""), ("x-trace-id", "b")]);
        assert_eq!(request_id(&mut empty, &names), "b");
        assert_eq!(empty[REQUEST_ID], "b");
        let (mut one, mut two) = (HeaderMap::new(), HeaderMap::new());
        let (one, two) = (request_id(&mut one, &names), request_id(&mut two, &names));
        assert!(one.len() == 32 && one != two);
    }

    #[test]
    fn steering_headers_are_found() {
        assert_eq!(
            steering(&headers(&[("x-data-parallel-rank", "1")])),
            Some("x-data-parallel-rank")
        );
        assert!(steering(&headers(&[("x-override-bootstrap-room", "1")])).is_some());
        assert_eq!(steering(&headers(&[("x-override", "1")])), None);
    }
}
