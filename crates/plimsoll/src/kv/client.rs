//! A small HTTP client, for what is read once.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header::AUTHORIZATION};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::time::timeout;

/// The largest answer that is read: a report of many thousand workers.
const MAX_BODY: usize = 64 << 20;

/// How long an idle connection is kept: less than engines do.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// Sends GET requests. Clones share their connections.
#[derive(Clone, Debug)]
pub(crate) struct Client(legacy::Client<HttpConnector, Empty<Bytes>>);

// === impl Client ===

impl Client {
    pub(crate) fn new() -> Self {
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_timer(TokioTimer::new())
            .build_http();
        Self(http)
    }

    /// The status and body of an answer; `None` if none comes, or not all of it in time.
    pub(crate) async fn get(
        &self,
        url: &str,
        authorization: Option<&HeaderValue>,
        within: Duration,
    ) -> Option<(StatusCode, Bytes)> {
        let mut request = Request::get(url);
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(Empty::new()).ok()?;
        let answer = async {
            let (head, body) = self.0.request(request).await.ok()?.into_parts();
            let body = Limited::new(body, MAX_BODY).collect().await.ok()?.to_bytes();
            Some((head.status, body))
        };
        timeout(within, answer).await.ok().flatten()
    }
}
