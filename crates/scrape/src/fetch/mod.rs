//! One GET to an engine, with limits on all that an engine could do to us.

mod body;
mod client;
mod redirect;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::Empty;
use hyper_util::client::legacy;

pub use self::client::HttpClient;
use crate::{ScrapeConfig, State};

/// How many redirects are followed, each to the host and port that was asked.
const MAX_REDIRECTS: usize = 3;

/// The text format 0.0.4, so that a page is not OpenMetrics.
const ACCEPT: HeaderValue = HeaderValue::from_static("text/plain;version=0.0.4, */*;q=0.1");

/// Asks engines.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    client: HttpClient,
    authorization: Option<HeaderValue>,
}

/// A 2xx answer, decompressed.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("its URL is none: {0}")]
    Url(#[from] http::Error),
    #[error("cannot be reached: {}", client::reason(.0))]
    Unreachable(#[from] legacy::Error),
    #[error("answered {0}")]
    Status(StatusCode),
    #[error("redirects elsewhere or without end")]
    Redirect,
    #[error("its answer cannot be read: {0}")]
    Body(#[from] body::BodyError),
}

// === impl Fetch ===

impl Fetch {
    /// The key goes with every request, and into no log.
    pub(crate) fn new(config: &ScrapeConfig) -> Self {
        let authorization = config.authorization.clone().map(|mut key| {
            key.set_sensitive(true);
            key
        });
        Self { client: HttpClient::new(config), authorization }
    }

    /// Asks for a page. There is no time limit on it but the caller's.
    pub(crate) async fn get(&self, uri: &Uri) -> Result<Answer, FetchError> {
        let mut uri = uri.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.client.request(self.request(&uri)?).await?;
            let (head, body) = response.into_parts();
            if head.status.is_success() {
                let body = body::read(body, head.headers.get(header::CONTENT_ENCODING)).await?;
                return Ok(Answer { headers: head.headers, body });
            }
            if !head.status.is_redirection() {
                return Err(FetchError::Status(head.status));
            }
            let location = head.headers.get(header::LOCATION).ok_or(FetchError::Redirect)?;
            uri = redirect::follow(&uri, location).ok_or(FetchError::Redirect)?;
        }
        Err(FetchError::Redirect)
    }

    fn request(&self, uri: &Uri) -> Result<Request<Empty<Bytes>>, http::Error> {
        let mut request = Request::get(uri)
            .header(header::ACCEPT, ACCEPT)
            .header(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"))
            .body(Empty::new())?;
        if let Some(key) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, key.clone());
        }
        Ok(request)
    }
}

// === impl Answer ===

impl Answer {
    /// It is a JSON document, whatever it says it is: a metrics page may begin with a brace too.
    pub(crate) fn is_json(&self) -> bool {
        let says = self.headers.get(header::CONTENT_TYPE);
        let says = says.is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
        let begins = self.body.trim_ascii_start().first().is_some_and(|byte| b"[{".contains(byte));
        says || (begins && serde_json::from_slice::<serde::de::IgnoredAny>(&self.body).is_ok())
    }
}

// === impl FetchError ===

impl FetchError {
    /// What it means for the reading of a worker's metrics page.
    pub(crate) fn state(&self) -> State {
        match self {
            // llama.cpp without --metrics answers 501
            Self::Status(StatusCode::NOT_FOUND | StatusCode::NOT_IMPLEMENTED) => State::Disabled,
            Self::Status(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => State::Unauthorized,
            Self::Status(status) if status.is_server_error() => State::Unreachable,
            Self::Unreachable(_) | Self::Body(body::BodyError::Broken(_)) => State::Unreachable,
            Self::Url(_) | Self::Status(_) | Self::Redirect | Self::Body(_) => State::Malformed,
        }
    }
}
