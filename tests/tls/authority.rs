//! Certificates, made when they are needed.

use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

use crate::support::Folder;

/// Somebody who issues certificates.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: String,
}

/// A certificate and its key, as PEM.
pub(super) struct Issued {
    pub(super) certificate: String,
    pub(super) key: String,
}

// === impl Authority ===

impl Authority {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut params = CertificateParams::default();
        let name = format!("authority {}", NEXT.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for this name or address.
    pub(super) fn issue(&self, name: &str) -> Issued {
        self.issue_with(name, |_| {})
    }

    /// One whose time is over.
    pub(super) fn issue_expired(&self, name: &str) -> Issued {
        self.issue_with(name, |params| {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        })
    }

    fn issue_with(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Issued {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate").pem();
        Issued { certificate, key: key.serialize_pem() }
    }
}

// === impl Issued ===

impl Issued {
    /// Writes both, and says where they are by the flags of the serving port.
    pub(super) fn serving(&self, folder: &Folder) -> String {
        let certificate = folder.put("serving.pem", &self.certificate);
        let key = folder.put("serving.key", &self.key);
        format!("--tls-cert-path {certificate} --tls-key-path {key}")
    }
}
