//! Certificates, made when they are needed.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

/// Somebody who issues certificates.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

/// A certificate and its key, as PEM.
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// A directory that goes away with the test.
pub(crate) struct Folder(PathBuf);

// === impl Authority ===

impl Authority {
    pub(crate) fn new() -> Self {
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
    pub(crate) fn issue(&self, name: &str) -> Issued {
        self.issue_with(name, |_| {})
    }

    /// One whose time is over.
    pub(crate) fn issue_expired(&self, name: &str) -> Issued {
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

// === impl Folder ===

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("plimsoll-tls-{}-{number}", process::id()));
        fs::create_dir(&path).expect("a directory");
        Self(path)
    }

    /// Writes a file, and says where it is.
    pub(crate) fn put(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    }

    /// Writes a certificate and its key, and says both by the flags of the serving port.
    pub(crate) fn put_serving(&self, issued: &Issued) -> String {
        let certificate = self.put("serving.pem", &issued.certificate);
        let key = self.put("serving.key", &issued.key);
        format!("--tls-cert-path {certificate} --tls-key-path {key}")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        Path::join(&self.0, name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
