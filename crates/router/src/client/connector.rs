//! How a worker is connected to: over TCP, or TLS on top of it.
//!
//! Which of both a connection is, is one branch for each read and write, and none in a build that
//! has no TLS.

use std::{io, time::Duration};

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::time::timeout;
use tower_service::Service;

use crate::{LegError, RouterConfig};

/// What a connection's bytes go through.
#[cfg(not(feature = "tls"))]
pub(super) type Stream = tokio::net::TcpStream;
#[cfg(feature = "tls")]
pub(super) use super::tls::Stream;

/// Makes connections.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    tcp: HttpConnector,
    /// The longest that it may take, the look-up of a name included.
    patience: Duration,
    #[cfg(feature = "tls")]
    tls: Option<super::tls::Connector>,
}

// === impl Connector ===

impl Connector {
    pub(super) fn new(config: &RouterConfig) -> Self {
        let tcp = connector(config.connect_timeout);
        Self {
            #[cfg(feature = "tls")]
            tls: config
                .tls
                .clone()
                .map(|tls| super::tls::Connector::new(tls, config.connect_timeout)),
            patience: config.connect_timeout,
            tcp,
        }
    }

    /// Connects to the base URL of a worker.
    pub(super) async fn connect(&self, base: Uri) -> Result<Stream, LegError> {
        #[cfg(feature = "tls")]
        if let Some(tls) = self.tls.as_ref().filter(|_| base.scheme_str() == Some("https")) {
            return tls.connect(base).await;
        }
        let stream = timeout(self.patience, self.tcp.clone().call(base)).await;
        let late = |_| LegError::Connect(io::Error::from(io::ErrorKind::TimedOut).into());
        let stream = stream.map_err(late)?.map_err(|error| LegError::Connect(error.into()))?;
        let stream = stream.into_inner();
        #[cfg(feature = "tls")]
        let stream = Stream::Tcp(stream);
        Ok(stream)
    }
}

pub(super) fn connector(timeout: Duration) -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(timeout));
    connector.set_nodelay(true);
    connector
}
