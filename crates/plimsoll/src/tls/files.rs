//! Certificates and keys in PEM files.

use std::{fmt, fs, path::Path, sync::Arc};

use rustls::{
    self,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
    sign::CertifiedKey,
};

use super::{TlsError, provider};

/// A certificate with its chain, and its key, which is not shown.
#[derive(Clone)]
pub(crate) struct Identity(pub(super) Arc<CertifiedKey>);

// === impl Identity ===

impl Identity {
    /// Reads both from their files.
    pub(crate) fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = certificates(certificate)?;
        let certified = CertifiedKey::from_der(chain, private_key(key)?, &provider());
        certified.map(|certified| Self(Arc::new(certified))).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                TlsError::OtherKey { certificate: certificate.to_owned(), key: key.to_owned() }
            }
            rustls::Error::InvalidCertificate(_) => {
                TlsError::Certificate { path: certificate.to_owned(), source: error.into() }
            }
            // Its words could be about what is in the key.
            _ => TlsError::UnknownKey(key.to_owned()),
        })
    }

    /// Both show the same certificate.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.0.cert == other.0.cert
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(…)")
    }
}

/// The certificates in a file; at least one.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if all.is_empty() => Err(TlsError::NoCertificate(path.to_owned())),
        Ok(all) => Ok(all),
        // It may hold a line of the file.
        Err(_) => Err(TlsError::NotPem(path.to_owned())),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read(path)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound if holds(&text, b"BEGIN ENCRYPTED PRIVATE KEY") => {
            TlsError::Encrypted(path.to_owned())
        }
        pem::Error::NoItemsFound => TlsError::NoKey(path.to_owned()),
        _ => TlsError::NotPem(path.to_owned()),
    })
}

fn holds(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })
}
