//! Files of certificates and keys.

use std::path::{Path, PathBuf};

use super::checks::fault;
use crate::{
    flags::{UsageError, place::Given, table::Tls},
    tls::{Identity, TlsError, trust},
    upstream::Upstream,
};

/// The flags of a certificate and its key, with and without dashes.
type Pair = ([&'static str; 2], [&'static str; 2]);

const SERVING: Pair = (["tls-cert-path", "tls-key-path"], ["--tls-cert-path", "--tls-key-path"]);
const CLIENT: Pair =
    (["client-cert-path", "client-key-path"], ["--client-cert-path", "--client-key-path"]);

/// What clients are shown, if anything.
pub(super) fn serving(flags: &Tls, given: &Given) -> Result<Option<Identity>, UsageError> {
    identity(flags.tls_cert_path.as_deref(), flags.tls_key_path.as_deref(), SERVING, given)
}

/// How engines are reached, by the issuers, certificate and key in these files.
pub(super) fn upstream(
    issuers: &[PathBuf],
    certificate: Option<&Path>,
    key: Option<&Path>,
    given: &Given,
) -> Result<Upstream, UsageError> {
    let identity = identity(certificate, key, CLIENT, given)?;
    let tls = trust(issuers, identity);
    tls.map(Upstream::new).map_err(|error| fault("ca-cert-paths", given, error))
}

fn identity(
    certificate: Option<&Path>,
    key: Option<&Path>,
    ([cert_flag, key_flag], dashed): Pair,
    given: &Given,
) -> Result<Option<Identity>, UsageError> {
    let fault = |flag, error| Err(fault(flag, given, error));
    match (certificate, key) {
        (None, None) => Ok(None),
        (Some(_), None) => fault(cert_flag, TlsError::Alone(dashed[1])),
        (None, Some(_)) => fault(key_flag, TlsError::Alone(dashed[0])),
        (Some(certificate), Some(key)) => match Identity::read(certificate, key) {
            Ok(identity) => Ok(Some(identity)),
            Err(error) if error.is_of(key) => fault(key_flag, error),
            Err(error) => fault(cert_flag, error),
        },
    }
}
