//! A small HTTP client.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use plimsoll_scrape::Report;
use tokio::time::{Instant, sleep, timeout};

use super::{ask::Ask, error::RunError, stage::Addresses};

/// Time for the router to find its engines.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// Time between looks at something that is about to change.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Time for a whole reply.
const REPLY_WITHIN: Duration = Duration::from_secs(120);

/// How long an idle connection is kept.
const POOL_IDLE: Duration = Duration::from_secs(10);

/// Why there is no good reply.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// The request cannot be made.
    #[error(transparent)]
    Request(#[from] http::Error),
    /// No head came.
    #[error("no answer: {0}")]
    NoHead(#[from] legacy::Error),
    /// The body broke off.
    #[error("the answer broke off: {0}")]
    Body(#[from] hyper::Error),
    /// Another status than 200.
    #[error("{0}: {1}")]
    Status(StatusCode, String),
    /// It is not the document that was asked for.
    #[error("it cannot be read: {0}")]
    Document(#[from] serde_json::Error),
    /// It did not end in time.
    #[error("no whole answer within {} s", REPLY_WITHIN.as_secs())]
    Timeout,
}

/// A client of the router's two ports. Clones share their connections.
#[derive(Clone, Debug)]
pub(super) struct Client {
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    addresses: Addresses,
}

// === impl Client ===

impl Client {
    pub(super) fn new(addresses: Addresses) -> Self {
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_timer(TokioTimer::new())
            .build_http();
        Self { http, addresses }
    }

    /// Waits until the router says that each role has an engine.
    pub(super) async fn wait_until_ready(&self) -> Result<(), RunError> {
        let begin = Instant::now();
        while self.get(self.addresses.clients, "/readiness").await.is_err() {
            if begin.elapsed() > READY_WITHIN {
                return Err(RunError::NotReady(READY_WITHIN.as_secs()));
            }
            sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    /// Sends a request and reads the reply to its end.
    pub(super) async fn send(&self, ask: Ask) -> Result<Bytes, FetchError> {
        let request = Request::post(url(self.addresses.clients, ask.path()))
            .header(header::CONTENT_TYPE, "application/json")
            .body(ask.body().into())?;
        self.fetch(request).await
    }

    /// The metrics page.
    pub(super) async fn metrics_page(&self) -> Result<String, FetchError> {
        let page = self.get(self.addresses.metrics, "/metrics").await?;
        Ok(String::from_utf8_lossy(&page).into_owned())
    }

    /// How full the KV caches are.
    pub(super) async fn kv(&self) -> Result<Report, FetchError> {
        let report = self.get(self.addresses.metrics, "/kv").await?;
        Ok(serde_json::from_slice(&report)?)
    }

    async fn get(&self, address: SocketAddr, path: &str) -> Result<Bytes, FetchError> {
        self.fetch(Request::get(url(address, path)).body(Full::default())?).await
    }

    async fn fetch(&self, request: Request<Full<Bytes>>) -> Result<Bytes, FetchError> {
        let answer = async {
            let response = self.http.request(request).await?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            match status {
                StatusCode::OK => Ok(body),
                _ => Err(FetchError::Status(status, String::from_utf8_lossy(&body).into_owned())),
            }
        };
        timeout(REPLY_WITHIN, answer).await.unwrap_or(Err(FetchError::Timeout))
    }
}

fn url(address: SocketAddr, path: &str) -> String {
    format!("http://{address}{path}")
}
