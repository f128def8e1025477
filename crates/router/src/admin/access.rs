//! Who may change the workers, or empty their caches, where there is no key.

use std::net::SocketAddr;

use http::{HeaderName, Request, header};

use super::AdminError;

/// Who sent a request: put it into the request's extensions where the connection is served. Without
/// it a caller counts as one from elsewhere, who may not change the workers unless by key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddr(pub SocketAddr);

/// Headers of requests that a proxy passes on for somebody else.
const PASSED_ON: [HeaderName; 6] = [
    header::FORWARDED,
    header::VIA,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-proto"),
    HeaderName::from_static("x-real-ip"),
];

/// Headers of requests that a browser sends for a web page, which may be anybody's.
const OF_PAGES: [HeaderName; 2] = [header::ORIGIN, HeaderName::from_static("sec-fetch-site")];

/// Lets only those through who ask from this host, for themselves.
///
/// # Errors
///
/// If the request comes from elsewhere.
pub(crate) fn require_local<B>(request: &Request<B>) -> Result<(), AdminError> {
    let peer = request.extensions().get::<PeerAddr>();
    // An IPv6 socket shows IPv4 peers as mapped addresses.
    let is_local = peer.is_some_and(|PeerAddr(peer)| peer.ip().to_canonical().is_loopback());
    let is_own = !has_any(request, &PASSED_ON) && !has_any(request, &OF_PAGES);
    (is_local && is_own).then_some(()).ok_or(AdminError::NotLocal)
}

/// Lets all through but web pages: a browser sends such a request unasked, though it does not show
/// the page the answer.
///
/// # Errors
///
/// If a web page makes the request.
pub(crate) fn require_no_page<B>(request: &Request<B>) -> Result<(), AdminError> {
    (!has_any(request, &OF_PAGES)).then_some(()).ok_or(AdminError::OfPage)
}

fn has_any<B>(request: &Request<B>, names: &[HeaderName]) -> bool {
    names.iter().any(|name| request.headers().contains_key(name))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::{PeerAddr, require_local};

    #[test]
    fn only_loopback_is_here() {
        for (peer, is_local) in [
            ("127.0.0.1:5", true),
            ("127.8.9.1:5", true),
            ("[::1]:5", true),
            ("[::ffff:127.0.0.1]:5", true),
            ("10.0.0.1:5", false),
            ("[::ffff:10.0.0.1]:5", false),
            ("0.0.0.0:5", false),
        ] {
            let peer = PeerAddr(peer.parse().unwrap());
            let request = Request::post("/workers").extension(peer).body(()).unwrap();
            assert_eq!(require_local(&request).is_ok(), is_local, "{peer:?}");
        }
        assert!(require_local(&Request::new(())).is_err());
    }

    #[test]
    fn who_asks_for_another_is_not() {
        for name in [
            "forwarded",
            "via",
            "origin",
            "sec-fetch-site",
            "x-forwarded-for",
            "x-forwarded-host",
            "x-forwarded-proto",
            "x-real-ip",
        ] {
            let peer = PeerAddr("127.0.0.1:5".parse().unwrap());
            let request = Request::post("/workers").extension(peer).header(name, "x");
            assert!(require_local(&request.body(()).unwrap()).is_err(), "{name}");
        }
    }
}
