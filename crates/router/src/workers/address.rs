//! Where a worker is.

use std::sync::Arc;

use http::{
    HeaderValue, Uri,
    uri::{Authority, Scheme},
};

/// Why a text is not the base URL of a worker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Not `http://HOST[:PORT]`, nor with the feature `tls` `https://HOST[:PORT]`.
    #[error("{0:?} is no worker URL; expected {EXPECTED}, IPv6 hosts in brackets")]
    NotAUrl(String),
    /// A scheme that needs TLS, in a build without.
    #[error(
        "{0:?} needs the cargo feature `tls`, which this build lacks; expected http://HOST[:PORT]"
    )]
    Tls(String),
    /// More than scheme, host and port.
    #[error("{0:?} has more than scheme, host and port; expected {EXPECTED}")]
    TooMuch(String),
    /// A user name or password; not shown.
    #[error("the URL of {0:?} holds a user name; leave it out, and use --worker-api-key")]
    UserInfo(String),
}

/// The base URL of a worker, checked. It holds nothing that a label or a log would have to escape.
#[derive(Clone, Debug)]
pub struct Address {
    /// As written, without a slash at the end.
    pub(crate) url: Arc<str>,
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    /// The same as the `host` header says it.
    pub(crate) host: HeaderValue,
}

/// What a base URL looks like.
const EXPECTED: &str = if cfg!(feature = "tls") {
    "http://HOST[:PORT] or https://HOST[:PORT]"
} else {
    "http://HOST[:PORT]"
};

// === impl Address ===

impl Address {
    /// Reads `http://HOST[:PORT]`, or with the feature `tls` `https://HOST[:PORT]`; a slash may
    /// follow.
    ///
    /// # Errors
    ///
    /// If it is anything else.
    pub fn read(text: &str) -> Result<Self, AddressError> {
        if let Some((_, host)) = text.rsplit_once('@') {
            return Err(AddressError::UserInfo(host.to_owned()));
        }
        let base = text.strip_suffix('/').unwrap_or(text);
        let fault = |kind: fn(String) -> AddressError| kind(text.to_owned());
        let uri: Uri = base.parse().map_err(|_| fault(AddressError::NotAUrl))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") if cfg!(feature = "tls") => {}
            Some("https") => return Err(fault(AddressError::Tls)),
            _ => return Err(fault(AddressError::NotAUrl)),
        }
        let parts = uri.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(fault(AddressError::NotAUrl));
        };
        let names_port = authority.as_str().len() > authority.host().len();
        let port = authority.port_u16().filter(|&port| port > 0);
        if authority.host().is_empty() || (names_port && port.is_none()) {
            return Err(fault(AddressError::NotAUrl));
        }
        if base.len() > scheme.as_str().len() + "://".len() + authority.as_str().len() {
            return Err(fault(AddressError::TooMuch));
        }
        let host = HeaderValue::try_from(authority.as_str());
        let host = host.map_err(|_| fault(AddressError::NotAUrl))?;
        Ok(Self { url: base.into(), scheme, authority, host })
    }

    /// As written, without a slash at the end.
    pub fn url(&self) -> &Arc<str> {
        &self.url
    }

    /// Both name the same worker, however they spell it.
    pub fn is_same(&self, other: &Self) -> bool {
        self.port() == other.port()
            && self.authority.host().eq_ignore_ascii_case(other.authority.host())
    }

    fn port(&self) -> u16 {
        let usual = if self.scheme == Scheme::HTTPS { 443 } else { 80 };
        self.authority.port_u16().unwrap_or(usual)
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, AddressError};

    #[test]
    fn base_urls() {
        for (text, url) in [
            ("http://a:30000", "http://a:30000"),
            ("http://Host.example/", "http://Host.example"),
            ("http://[::1]:8000", "http://[::1]:8000"),
        ] {
            assert_eq!(&*Address::read(text).unwrap().url, url);
        }
    }

    #[test]
    fn what_is_none() {
        let not_a_url: &[&str] =
            &["", "a", "a:1", "/a", "ftp://a", "http://", "http://a:", "http://a:0", "http://a:x"];
        let escaped: &[&str] = &["http://a\"b:1", "http://a\\b:1", "http://a\nb:1", "http://a b"];
        for text in not_a_url.iter().chain(escaped) {
            let error = Address::read(text).unwrap_err();
            assert_eq!(error, AddressError::NotAUrl((*text).to_owned()));
        }
        #[cfg(not(feature = "tls"))]
        assert!(matches!(Address::read("https://a"), Err(AddressError::Tls(_))));
        for text in ["http://a/v1", "http://a?x", "http://a//"] {
            assert!(matches!(Address::read(text), Err(AddressError::TooMuch(_))), "{text}");
        }
        let secret = Address::read("http://me:secret@a:1").unwrap_err().to_string();
        assert!(secret.contains("a:1") && !secret.contains("secret"), "{secret}");
    }

    #[test]
    fn spellings_of_one_worker() {
        let is_same = |one: &str, other: &str| {
            Address::read(one).unwrap().is_same(&Address::read(other).unwrap())
        };
        assert!(is_same("http://A", "http://a:80/"));
        assert!(is_same("http://a:1", "http://a:1"));
        assert!(!is_same("http://a:1", "http://a:2"));
        assert!(!is_same("http://a:1", "http://b:1"));
        #[cfg(feature = "tls")]
        {
            assert!(is_same("https://a", "https://a:443"));
            assert!(is_same("https://a:1", "http://a:1"), "one port is one worker");
            assert!(!is_same("https://a", "http://a"));
        }
    }

    #[cfg(feature = "tls")]
    #[test]
    fn base_urls_of_tls() {
        for (text, url) in [("https://a", "https://a"), ("https://[::1]:8/", "https://[::1]:8")] {
            assert_eq!(&*Address::read(text).unwrap().url, url);
        }
        assert!(matches!(Address::read("https://a/v1"), Err(AddressError::TooMuch(_))));
    }
}
