//! What was wrong with a TLS handshake, in words that say what to do.

use std::{error::Error, io, time::Duration};

use rustls::{AlertDescription, CertificateError, Error as TlsError, InvalidMessage};

/// Why TLS with a worker failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsFault {
    /// Nothing that is trusted has signed its certificate.
    #[error("its certificate is of an unknown issuer (--ca-cert-paths)")]
    UnknownIssuer,
    /// Its certificate is for other names.
    #[error("its certificate is not for this name{}", names(.0))]
    OtherName(Vec<String>),
    /// Its certificate's time is over.
    #[error("its certificate has expired")]
    Expired,
    /// Its certificate's time has not begun.
    #[error("its certificate is not valid yet")]
    NotYetValid,
    /// It wants to see a certificate.
    #[error("it wants a certificate (--client-cert-path, --client-key-path)")]
    WantsCertificate,
    /// It does not speak TLS.
    #[error("it does not speak TLS: is it an http:// worker?")]
    NotTls,
    /// The handshake took too long.
    #[error("the handshake took longer than {} s", .0.as_secs_f64())]
    Slow(Duration),
    /// Anything else, in the words of the TLS library.
    #[error("{0}")]
    Other(Box<TlsError>),
}

// === impl TlsFault ===

impl TlsFault {
    /// What was wrong, if TLS is at the bottom of an error.
    pub fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(tls) = error.downcast_ref::<TlsError>() {
                return Some(Self::from_tls(tls));
            }
            // The source of such an error is what is below the one inside of it.
            next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
                Some(inside) => Some(inside as &(dyn Error + 'static)),
                None => error.source(),
            };
        }
        None
    }

    fn from_tls(error: &TlsError) -> Self {
        use AlertDescription as Alert;
        match error {
            TlsError::InvalidCertificate(certificate) => match certificate {
                CertificateError::UnknownIssuer => Self::UnknownIssuer,
                CertificateError::NotValidForName => Self::OtherName(Vec::new()),
                CertificateError::NotValidForNameContext { presented, .. } => {
                    Self::OtherName(presented.iter().map(|name| bare(name)).collect())
                }
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    Self::Expired
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    Self::NotYetValid
                }
                _ => Self::Other(error.clone().into()),
            },
            TlsError::AlertReceived(Alert::CertificateRequired) => Self::WantsCertificate,
            TlsError::InvalidMessage(InvalidMessage::InvalidContentType) => Self::NotTls,
            _ => Self::Other(error.clone().into()),
        }
    }
}

/// What is inside of `DnsName("a")`, as the library writes names.
fn bare(name: &str) -> String {
    let inside = name.split_once('(').and_then(|(_, inside)| inside.strip_suffix(')'));
    inside.unwrap_or(name).trim_matches('"').to_owned()
}

fn names(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(", but for {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_wherever_it_is() {
        let tls = || TlsError::InvalidCertificate(CertificateError::UnknownIssuer);
        let inside = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, tls()));
        for error in [&tls() as &(dyn Error + 'static), &io::Error::other(tls()), &inside] {
            assert_eq!(TlsFault::of(error), Some(TlsFault::UnknownIssuer), "{error}");
        }
        assert_eq!(TlsFault::of(&io::Error::other("x")), None);
    }

    #[test]
    fn it_says_which_names_there_are() {
        let names = ["DnsName(\"a\")", "IpAddress(::1)", "b"].map(bare);
        let fault = TlsFault::OtherName(names.into());
        assert_eq!(fault.to_string(), "its certificate is not for this name, but for a, ::1, b");
    }
}
