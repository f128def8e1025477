//! TLS with clients.

use std::{fmt, io, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::{net::TcpStream, time};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{Identity, TlsError, provider};

/// How long a client may take for its handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The protocols that are spoken, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Makes connections of clients into ones of TLS. Clones show the same certificate.
#[derive(Clone)]
pub(crate) struct Serving {
    acceptor: TlsAcceptor,
    shown: Arc<Shown>,
}

/// The certificate that is shown to whoever asks, whatever name it asks for.
struct Shown(ArcSwap<CertifiedKey>);

// === impl Serving ===

impl Serving {
    pub(crate) fn new(identity: &Identity) -> Result<Self, TlsError> {
        let shown = Arc::new(Shown(ArcSwap::new(identity.0.clone())));
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(shown.clone());
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        Ok(Self { acceptor: Arc::new(config).into(), shown })
    }

    /// Shows this certificate from now on. True if it is another.
    pub(crate) fn show(&self, identity: &Identity) -> bool {
        !Identity(self.shown.0.swap(identity.0.clone())).is_same(identity)
    }

    /// Shakes hands, within the time limit.
    pub(crate) async fn accept(&self, socket: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        time::timeout(HANDSHAKE_TIMEOUT, self.acceptor.accept(socket)).await?
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").finish_non_exhaustive()
    }
}

// === impl Shown ===

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shown(…)")
    }
}
