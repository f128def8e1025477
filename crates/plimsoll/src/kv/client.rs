//! A small HTTP client, for what is read once.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header::AUTHORIZATION};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::client::legacy;
use plimsoll_scrape::{HttpClient, ScrapeConfig};
use tokio::time::timeout;

use crate::upstream::Upstream;

/// The largest answer that is read: a report of many thousand workers.
const MAX_BODY: usize = 64 << 20;

/// Sends GET requests. Clones share their connections.
#[derive(Clone, Debug)]
pub(crate) struct Client(HttpClient);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error("its URL is none")]
    Url(#[from] http::Error),
    #[error("cannot be reached")]
    Unreachable(#[from] legacy::Error),
    #[error("broke off its answer, or it is too long")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("took too long")]
    Slow,
}

// === impl Client ===

impl Client {
    pub(crate) fn new(upstream: &Upstream) -> Self {
        Self(HttpClient::new(&upstream.read(ScrapeConfig::default())))
    }

    /// The status and body of an answer, if all of it comes in time.
    pub(crate) async fn get(
        &self,
        url: &str,
        authorization: Option<&HeaderValue>,
        within: Duration,
    ) -> Result<(StatusCode, Bytes), Unanswered> {
        let mut request = Request::get(url);
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Empty::new())?;
        let answer = async {
            let (head, body) = self.0.request(request).await?.into_parts();
            let body = Limited::new(body, MAX_BODY).collect().await.map_err(Unanswered::Body)?;
            Ok((head.status, body.to_bytes()))
        };
        timeout(within, answer).await.unwrap_or(Err(Unanswered::Slow))
    }
}

// === impl Unanswered ===

#[cfg(feature = "tls")]
impl Unanswered {
    /// What was wrong with TLS.
    pub(crate) fn tls_fault(&self) -> Option<plimsoll_router::TlsFault> {
        plimsoll_router::TlsFault::of(self)
    }
}
