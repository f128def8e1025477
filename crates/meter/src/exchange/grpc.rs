//! gRPC: always a 200; how it went is said by `grpc-status`, in the headers or in the trailers.

use http::{HeaderMap, header::CONTENT_TYPE};

use crate::Outcome;

/// The status of one call, as far as it has come.
#[derive(Debug)]
pub(super) struct Grpc {
    status: Option<u32>,
    /// The status comes in the trailers. (gRPC-Web writes it into the body.)
    has_trailers: bool,
}

// === impl Grpc ===

impl Grpc {
    /// `None` if the answer is none of gRPC.
    pub(super) fn new(headers: &HeaderMap) -> Option<Self> {
        let content_type = headers.get(CONTENT_TYPE)?.as_bytes();
        let essence = content_type.split(|&byte| byte == b';').next()?.trim_ascii();
        let kind = essence.to_ascii_lowercase();
        let format = kind.strip_prefix(b"application/grpc")?;
        let has_trailers = matches!(format, [] | [b'+', ..]);
        (has_trailers || format.starts_with(b"-web"))
            .then(|| Self { status: status(headers), has_trailers })
    }

    pub(super) fn trailers(&mut self, trailers: &HeaderMap) {
        self.status = status(trailers).or(self.status);
    }

    /// What the call came to, now that the body has ended: the codes of the client's fault, those
    /// of the server's, and none where there should be one.
    pub(super) fn outcome(&self) -> Outcome {
        match self.status {
            Some(0) => Outcome::Complete,
            Some(1) => Outcome::ClientDisconnect,
            Some(3 | 5 | 6 | 7 | 9 | 11 | 16) => Outcome::ClientError,
            Some(_) => Outcome::UpstreamError,
            None if self.has_trailers => Outcome::Truncated,
            None => Outcome::Complete,
        }
    }
}

/// A status that is no number is that of an unknown error, 2.
fn status(headers: &HeaderMap) -> Option<u32> {
    let value = headers.get("grpc-status")?;
    Some(value.to_str().ok().and_then(|value| value.trim().parse().ok()).unwrap_or(2))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};

    use super::Grpc;
    use crate::Outcome;

    fn headers(content_type: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))])
    }

    #[test]
    fn grpc_is_told_by_its_type() {
        for (content_type, want) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("Application/gRPC; charset=utf-8", true),
            ("application/grpc-web+proto", true),
            ("application/grpcx", false),
            ("application/json", false),
        ] {
            assert_eq!(Grpc::new(&headers(content_type)).is_some(), want, "{content_type}");
        }
    }

    #[test]
    fn codes_are_outcomes() {
        for (status, want) in [
            (Some("0"), Outcome::Complete),
            (Some("1"), Outcome::ClientDisconnect),
            (Some("3"), Outcome::ClientError),
            (Some("8"), Outcome::UpstreamError),
            (Some("13"), Outcome::UpstreamError),
            (Some("?"), Outcome::UpstreamError),
            (None, Outcome::Truncated),
        ] {
            let mut grpc = Grpc::new(&headers("application/grpc")).unwrap();
            let trailers = status.map(|status| ("grpc-status", status));
            let trailers = trailers
                .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
            grpc.trailers(&trailers.into_iter().collect());
            assert_eq!(grpc.outcome(), want, "{status:?}");
        }
    }
}
