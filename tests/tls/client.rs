//! A client that speaks TLS.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// No answer is waited for longer.
const LIMIT: Duration = Duration::from_secs(20);

/// Asks, each time on a connection of its own.
#[derive(Clone)]
pub(super) struct Client(Arc<ClientConfig>);

/// An answer, or why there is none.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) version: Version,
    pub(super) body: String,
}

// === impl Client ===

impl Client {
    /// One that trusts this issuer, and offers these protocols.
    pub(super) fn trusting(issuer: &str, protocols: &[&str]) -> Self {
        let mut roots = RootCertStore::empty();
        let issuer = CertificateDer::from_pem_slice(issuer.as_bytes()).expect("PEM");
        roots.add(issuer).expect("a certificate");
        let mut config = ClientConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        // A session that is taken up again shows what it was shown first.
        config.resumption = Resumption::disabled();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self(Arc::new(config))
    }

    pub(super) async fn get(&self, addr: SocketAddr, path: &str) -> Result<Answer, String> {
        self.ask(addr, Request::get(path), "").await
    }

    pub(super) async fn post(
        &self,
        addr: SocketAddr,
        path: &str,
        body: &str,
    ) -> Result<Answer, String> {
        let request = Request::post(path).header("content-type", "application/json");
        self.ask(addr, request, body).await
    }

    async fn ask(
        &self,
        addr: SocketAddr,
        request: http::request::Builder,
        body: &str,
    ) -> Result<Answer, String> {
        let request = request.header("host", addr.to_string());
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).expect("a request");
        let answer = Box::pin(async {
            let stream = self.shake_hands(addr).await?;
            if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                h2(stream, request, addr).await
            } else {
                h1(stream, request).await
            }
        });
        timeout(LIMIT, answer).await.expect("it answers in time")
    }

    /// The connection once TLS is agreed upon.
    pub(super) async fn shake_hands(
        &self,
        addr: SocketAddr,
    ) -> Result<TlsStream<TcpStream>, String> {
        let socket = TcpStream::connect(addr).await.map_err(|error| error.to_string())?;
        let name = ServerName::IpAddress(addr.ip().into());
        let stream = TlsConnector::from(self.0.clone()).connect(name, socket).await;
        stream.map_err(|error| error.to_string())
    }
}

async fn h1(stream: TlsStream<TcpStream>, request: Request<Full<Bytes>>) -> Result<Answer, String> {
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    read(sender.send_request(request).await).await
}

async fn h2(
    stream: TlsStream<TcpStream>,
    mut request: Request<Full<Bytes>>,
    addr: SocketAddr,
) -> Result<Answer, String> {
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    let uri = format!("https://{addr}{}", request.uri().path());
    *request.uri_mut() = uri.parse().expect("a URI");
    request.headers_mut().remove("host");
    read(sender.send_request(request).await).await
}

async fn read(answer: hyper::Result<http::Response<Incoming>>) -> Result<Answer, String> {
    let (head, body) = answer.map_err(|error| error.to_string())?.into_parts();
    let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
    let status = StatusCode::as_u16(&head.status);
    Ok(Answer { status, version: head.version, body: String::from_utf8_lossy(&body).into_owned() })
}
