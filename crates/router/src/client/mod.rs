//! Connections to workers.

mod connection;

use std::{
    error::Error,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::{Extensions, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use plimsoll_wire::Splice;
use tower_service::Service;

use self::connection::{HasServed, WorkerConnection};
use crate::LegError;

/// How long an idle connection is kept: 4 s, since SGLang and vLLM (uvicorn) close theirs after 5 s
/// and a request sent into that moment would be lost.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// Connections to workers. Clones share them; they belong to the runtime that first used them.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pooled: Connections,
    /// Makes a connection for each request.
    fresh: Connections,
}

/// Which connection a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// One that has served before, if there is one.
    Allowed,
    /// A new one: one that had served before died under the request.
    Refused,
}

/// The wait for an answer's head.
#[derive(Debug)]
pub(crate) struct Sent(legacy::ResponseFuture);

type Connections = legacy::Client<Connector, Full<Splice>>;

#[derive(Clone, Debug)]
struct Connector(HttpConnector);

// === impl Client ===

impl Client {
    pub(crate) fn new(connect_timeout: Duration) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(connect_timeout));
        connector.set_nodelay(true);
        let connector = Connector(connector);
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        builder.pool_idle_timeout(POOL_IDLE).pool_timer(TokioTimer::new()).timer(TokioTimer::new());
        let pooled = builder.build(connector.clone());
        Self { pooled, fresh: builder.pool_max_idle_per_host(0).build(connector) }
    }

    /// Sends a request; the future gives the answer's head.
    pub(crate) fn send(&self, request: Request<Full<Splice>>, reuse: Reuse) -> Sent {
        Sent(match reuse {
            Reuse::Allowed => self.pooled.request(request),
            Reuse::Refused => self.fresh.request(request),
        })
    }
}

// === impl Sent ===

impl Future for Sent {
    type Output = Result<Response<Incoming>, LegError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|result| {
            let response = result.map_err(LegError::before_head)?;
            if let Some(has_served) = response.extensions().get::<HasServed>() {
                has_served.note();
            }
            Ok(response)
        })
    }
}

// === impl Connector ===

impl Service<Uri> for Connector {
    type Response = WorkerConnection;
    type Error = <HttpConnector as Service<Uri>>::Error;
    type Future = Pin<Box<dyn Future<Output = Result<WorkerConnection, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, worker: Uri) -> Self::Future {
        let connecting = self.0.call(worker);
        Box::pin(async { connecting.await.map(WorkerConnection::new) })
    }
}

// === impl LegError ===

impl LegError {
    /// The error of a leg that had no head yet.
    fn before_head(error: legacy::Error) -> Self {
        match error {
            error if error.is_connect() => Self::Connect(error),
            error if had_served(&error) && !is_answer(&error) => Self::Stale(error),
            error => Self::NoHead(error),
        }
    }
}

/// Whether it failed because something came that is no answer.
fn is_answer(error: &legacy::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<hyper::Error>());
    cause.is_some_and(hyper::Error::is_parse)
}

/// Whether the connection that failed had brought an answer before.
fn had_served(error: &legacy::Error) -> bool {
    let Some(connected) = error.connect_info() else { return false };
    let mut extras = Extensions::new();
    connected.get_extras(&mut extras);
    extras.get::<HasServed>().is_some_and(HasServed::get)
}
