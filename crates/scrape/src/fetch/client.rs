//! Connections to engines, over TCP or TLS.

use std::{error::Error, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper_util::{
    client::legacy::{self, ResponseFuture, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};

use crate::ScrapeConfig;

/// How long an idle connection is kept: 4 s, since SGLang and vLLM (uvicorn) close theirs after 5 s.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// Sends GET requests to engines, over TCP or TLS. Clones share their connections.
#[derive(Clone, Debug)]
pub struct HttpClient(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Tcp(legacy::Client<HttpConnector, Empty<Bytes>>),
    #[cfg(feature = "tls")]
    Tls(legacy::Client<hyper_rustls::HttpsConnector<HttpConnector>, Empty<Bytes>>),
}

// === impl HttpClient ===

impl HttpClient {
    /// What is read by this configuration.
    pub fn new(config: &ScrapeConfig) -> Self {
        // It is looked at in builds with TLS only.
        let _ = config;
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        builder.pool_idle_timeout(POOL_IDLE).pool_timer(TokioTimer::new()).timer(TokioTimer::new());
        #[cfg(feature = "tls")]
        if let Some(tls) = config.tls.clone() {
            tcp.enforce_http(false);
            return Self(Kind::Tls(builder.build((tcp, tls).into())));
        }
        Self(Kind::Tcp(builder.build(tcp)))
    }

    /// The answer to a request, without any time limit.
    pub fn request(&self, request: Request<Empty<Bytes>>) -> ResponseFuture {
        match &self.0 {
            Kind::Tcp(client) => client.request(request),
            #[cfg(feature = "tls")]
            Kind::Tls(client) => client.request(request),
        }
    }
}

/// What is at the bottom of an error, which alone says what was wrong.
pub(super) fn reason(error: &legacy::Error) -> String {
    let mut bottom: &(dyn Error + 'static) = error;
    while let Some(source) = bottom.source() {
        bottom = source;
    }
    bottom.to_string()
}
