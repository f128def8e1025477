//! Connections to workers.
//!
//! A leg owns the connection it uses, and drives it: no task of the connection's own stands between a
//! worker's bytes and the client. Connections that are idle wait in a pool.

mod answer;
mod connection;
mod connector;
mod doorbell;
#[cfg(feature = "tls")]
mod fault;
mod pool;
mod socket;
#[cfg(feature = "tls")]
mod tls;

use std::{
    fmt,
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Response, header::HOST};

pub(crate) use self::answer::AnswerBody;
#[cfg(feature = "tls")]
pub use self::fault::TlsFault;
use self::{
    connection::{Connection, Sending},
    connector::Connector,
    pool::Pool,
};
use crate::{LegError, RouterConfig, Worker, error};

/// Connections to workers. Clones share them; they belong to the runtime that first used them.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pool: Pool,
    connector: Connector,
}

/// Which connection a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// One that has served before, if there is one.
    Allowed,
    /// A new one: one that had served before died under the request.
    Refused,
}

/// The wait for an answer's head. Dropping it closes the connection.
pub(crate) struct Sent(
    Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, LegError>> + Send>>,
);

// === impl Client ===

impl Client {
    pub(crate) fn new(config: &RouterConfig) -> Self {
        Self { pool: Pool::default(), connector: Connector::new(config) }
    }

    /// Sends a request, whose URI is the path, to a worker; the future gives the answer's head.
    pub(crate) fn send(&self, worker: &Arc<Worker>, mut request: Sending, reuse: Reuse) -> Sent {
        request.headers_mut().insert(HOST, worker.authority().clone());
        Sent(Box::pin(self.clone().answer(worker.clone(), request, reuse)))
    }

    async fn answer(
        self,
        worker: Arc<Worker>,
        mut request: Sending,
        reuse: Reuse,
    ) -> Result<Response<AnswerBody>, LegError> {
        loop {
            let idle = match reuse {
                Reuse::Allowed => self.pool.take(worker.url()),
                Reuse::Refused => None,
            };
            let mut connection = match idle {
                Some(connection) => connection,
                None => Box::pin(self.connect(&worker)).await?,
            };
            let mut error = match connection.send(request).await {
                Ok(response) => {
                    connection.note_head();
                    let (pool, url) = (self.pool, worker.url().clone());
                    return Ok(response.map(|body| AnswerBody::new(body, connection, pool, url)));
                }
                Err(error) => error,
            };
            match error.take_message() {
                // The worker closed it while it was idle.
                Some(unbegun) if connection.has_served() => request = unbegun,
                _ => {
                    return Err(LegError::before_head(error.into_error(), connection.has_served()));
                }
            }
        }
    }

    async fn connect(&self, worker: &Worker) -> Result<Connection, LegError> {
        let stream = self.connector.connect(worker.base()).await?;
        Connection::over(stream).await.map_err(LegError::NoHead)
    }
}

// === impl Sent ===

impl Future for Sent {
    type Output = Result<Response<AnswerBody>, LegError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sent").finish_non_exhaustive()
    }
}

// === impl LegError ===

impl LegError {
    /// The error of a leg that had no head yet, on a connection that had served before, or not.
    fn before_head(error: hyper::Error, had_served: bool) -> Self {
        // A worker of TLS 1.3 refuses our certificate, or that there is none, after its handshake.
        #[cfg(feature = "tls")]
        if let Some(fault) = TlsFault::of(&error).filter(|_| !had_served) {
            return Self::Tls(fault);
        }
        let kind = || error::innermost(&error).downcast_ref().map(io::Error::kind);
        // What came and is no answer, or too much of it, came from a worker that lives.
        if error.is_parse() || kind() == Some(io::ErrorKind::InvalidData) {
            Self::BadHead(error)
        } else if had_served {
            Self::Stale(error)
        } else {
            Self::NoHead(error)
        }
    }
}
