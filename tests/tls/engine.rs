//! Simulated engines behind TLS.

use std::{net::SocketAddr, sync::Arc};

use plimsoll_sim::{SimConfig, SimEngine};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};
use tokio_rustls::TlsAcceptor;

use super::authority::Issued;
use crate::support::sim;

/// An engine, and what ends TLS in front of it.
pub(super) struct Engine {
    pub(super) sim: SimEngine,
    pub(super) addr: SocketAddr,
    terminator: AbortHandle,
}

// === impl Engine ===

impl Engine {
    pub(super) async fn start(config: SimConfig, issued: &Issued) -> Self {
        Self::start_asking(config, issued, None).await
    }

    /// One that wants to see a certificate of this issuer.
    pub(super) async fn start_asking(
        config: SimConfig,
        issued: &Issued,
        issuer: Option<&str>,
    ) -> Self {
        let sim = sim(config).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let acceptor = acceptor(issued, issuer);
        let inside = sim.url().trim_start_matches("http://").to_owned();
        let terminator = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, inside) = (acceptor.clone(), inside.clone());
                tokio::spawn(async move {
                    let mut outside = Box::pin(acceptor.accept(socket)).await?;
                    let mut inside = TcpStream::connect(inside).await?;
                    copy_bidirectional(&mut outside, &mut inside).await
                });
            }
        });
        Self { sim, addr, terminator: terminator.abort_handle() }
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}", self.addr)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.terminator.abort();
    }
}

fn acceptor(issued: &Issued, issuer: Option<&str>) -> TlsAcceptor {
    let provider = Arc::new(ring::default_provider());
    let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM");
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("versions");
    let builder = match issuer {
        Some(issuer) => {
            let mut roots = RootCertStore::empty();
            roots.add(certificate(issuer)).expect("a certificate");
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
        }
        None => builder.with_no_client_auth(),
    };
    let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).expect("PEM");
    let config = builder.with_single_cert(vec![certificate(&issued.certificate)], key);
    Arc::new(config.expect("a key of the certificate")).into()
}
