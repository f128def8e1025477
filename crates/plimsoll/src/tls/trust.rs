//! TLS with engines.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use rustls::{
    ClientConfig, RootCertStore, client::ResolvesClientCert, pki_types::CertificateDer,
    sign::SingleCertAndKey,
};

use super::{Identity, TlsError, files::certificates, provider};

/// Trusts whom this machine trusts, and the issuers in these files; shows engines that ask for a
/// certificate this one.
pub(crate) fn trust(
    issuers: &[PathBuf],
    identity: Option<Identity>,
) -> Result<Arc<ClientConfig>, TlsError> {
    let mut roots = RootCertStore::empty();
    // What is no certificate of an issuer signs nothing.
    roots.add_parsable_certificates(machine().iter().cloned());
    for path in issuers {
        for issuer in certificates(path)? {
            roots.add(issuer).map_err(|error| TlsError::Certificate {
                path: path.clone(),
                source: error.into(),
            })?;
        }
    }
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    let config = match identity {
        Some(Identity(key)) => {
            let shown: Arc<dyn ResolvesClientCert> = Arc::new(SingleCertAndKey::from(key));
            config.with_client_cert_resolver(shown)
        }
        None => config.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

/// The issuers that this machine trusts, read once. Where it has none, only those that are named
/// count.
fn machine() -> &'static [CertificateDer<'static>] {
    static ROOTS: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();
    ROOTS.get_or_init(|| rustls_native_certs::load_native_certs().certs)
}
