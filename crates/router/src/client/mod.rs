//! Connections to workers.

use std::time::Duration;

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{self, ResponseFuture, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use plimsoll_wire::Splice;

use crate::LegError;

/// How long an idle connection is kept: 4 s, since SGLang and vLLM (uvicorn) close theirs after 5 s
/// and a request sent into that moment would be lost.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// A pool of connections. Clones share it; it belongs to the runtime that first used it.
#[derive(Clone, Debug)]
pub(crate) struct Client(legacy::Client<HttpConnector, Full<Splice>>);

// === impl Client ===

impl Client {
    pub(crate) fn new(connect_timeout: Duration) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(connect_timeout));
        connector.set_nodelay(true);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .build(connector);
        Self(client)
    }

    /// Sends a request; the future gives the answer's head.
    pub(crate) fn send(&self, request: Request<Full<Splice>>) -> ResponseFuture {
        self.0.request(request)
    }

    /// Sends a request and waits for the answer's head, without a limit.
    pub(crate) async fn request(
        &self,
        request: Request<Full<Splice>>,
    ) -> Result<Response<Incoming>, LegError> {
        self.send(request).await.map_err(LegError::before_head)
    }
}

// === impl LegError ===

impl LegError {
    /// The error of a leg that had no head yet.
    pub(crate) fn before_head(error: legacy::Error) -> Self {
        if error.is_connect() { Self::Connect(error) } else { Self::NoHead(error) }
    }
}
