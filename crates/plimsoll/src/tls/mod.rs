//! TLS: what is shown to clients, and whom to trust among engines.
//!
//! The cryptography is ring's, named wherever a configuration is made: nothing here depends on what
//! else in the process has chosen.

mod files;
mod serving;
mod trust;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{self, crypto::CryptoProvider};

pub(crate) use self::{files::Identity, serving::Serving, trust::trust};

/// Why files of certificates or keys cannot be used. Never with what is in a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    /// One of two that belong together.
    #[error("needs {0} too")]
    Alone(&'static str),
    /// The file cannot be read.
    #[error("cannot read {path:?}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is not PEM.
    #[error("{0:?} is not PEM: a block of it is broken")]
    NotPem(PathBuf),
    /// There is no certificate in the file.
    #[error("{0:?} holds no certificate; expected PEM with -----BEGIN CERTIFICATE-----")]
    NoCertificate(PathBuf),
    /// There is no key in the file.
    #[error("{0:?} holds no private key; expected PEM with -----BEGIN PRIVATE KEY-----")]
    NoKey(PathBuf),
    /// The key is encrypted.
    #[error("the key in {0:?} is encrypted; expected one without a passphrase")]
    Encrypted(PathBuf),
    /// The key is of another certificate.
    #[error("the key in {key:?} does not belong to the certificate in {certificate:?}")]
    OtherKey {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// The certificate cannot be used.
    #[error("the certificate in {path:?} cannot be used: {source}")]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The library's reason.
        source: Box<rustls::Error>,
    },
    /// The key cannot be used.
    #[error("the key in {0:?} is of no kind that is known; expected RSA, ECDSA or Ed25519")]
    UnknownKey(PathBuf),
    /// Anything else.
    #[error(transparent)]
    Setup(Box<rustls::Error>),
}

// === impl TlsError ===

impl TlsError {
    /// It is about this file, which is that of a key.
    pub(crate) fn is_of(&self, key: &Path) -> bool {
        match self {
            Self::Unreadable { path, .. } | Self::NotPem(path) => path == key,
            Self::NoKey(_) | Self::Encrypted(_) | Self::OtherKey { .. } | Self::UnknownKey(_) => {
                true
            }
            _ => false,
        }
    }
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        Self::Setup(Box::new(error))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
