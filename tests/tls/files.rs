//! Files of certificates and keys that cannot be used.

use super::authority::{Authority, Issued};
use crate::support::{Folder, bounded, said};

/// What the binary says of these flags, which hold a file with a secret; one line.
async fn error(flags: &str) -> String {
    let said = said(&format!("check --worker-urls http://127.0.0.1:1 {flags}")).await;
    assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{flags}: {}", said.err);
    assert!(!format!("{}{}", said.out, said.err).contains("s3cret"), "{flags}: {}", said.err);
    said.err
}

/// A directory with a certificate and its key.
fn pair() -> (Folder, Authority, Issued, String, String) {
    let (authority, folder) = (Authority::new(), Folder::new());
    let issued = authority.issue("a");
    let certificate = folder.put("cert.pem", &issued.certificate);
    let key = folder.put("key.pem", &issued.key);
    (folder, authority, issued, certificate, key)
}

#[tokio::test]
async fn one_needs_the_other() {
    bounded(async {
        let (_folder, _, _, cert, key) = pair();
        for (flags, wanted) in [
            (format!("--tls-cert-path {cert}"), "--tls-cert-path: needs --tls-key-path too"),
            (format!("--tls-key-path {key}"), "--tls-key-path: needs --tls-cert-path too"),
            (format!("--client-cert-path {cert}"), "--client-cert-path: needs --client-key-path"),
            (format!("--client-key-path {key}"), "--client-key-path: needs --client-cert-path"),
        ] {
            let error = error(&flags).await;
            assert!(error.starts_with(&format!("plimsoll: {wanted}")), "{error}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_with_a_key_is_said_and_not_what_it_is() {
    bounded(async {
        let (folder, authority, issued, cert, _) = pair();
        let sealed = "-----BEGIN ENCRYPTED PRIVATE KEY-----\ns3cret\n\
                      -----END ENCRYPTED PRIVATE KEY-----\n";
        let foreign = "-----BEGIN PRIVATE KEY-----\ns3cret==\n-----END PRIVATE KEY-----\n";
        for (name, text, wanted) in [
            ("text", "s3cret", "--tls-key-path: \"FILE\" holds no private key; expected PEM"),
            ("cert", &issued.certificate, "--tls-key-path: \"FILE\" holds no private key"),
            (
                "broken",
                &issued.key.replace("MIG", "!!s3cret!!"),
                "--tls-key-path: \"FILE\" is not PEM",
            ),
            ("sealed", sealed, "--tls-key-path: the key in \"FILE\" is encrypted"),
            ("foreign", foreign, "--tls-key-path: the key in \"FILE\" is of no kind that is known"),
            (
                "other",
                &authority.issue("b").key,
                "--tls-key-path: the key in \"FILE\" does not belong to the certificate in",
            ),
        ] {
            let file = folder.put(name, text);
            let error = error(&format!("--tls-cert-path {cert} --tls-key-path {file}")).await;
            let wanted = wanted.replace("FILE", &file);
            assert!(error.starts_with(&format!("plimsoll: {wanted}")), "{error}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_with_a_certificate_is_said() {
    bounded(async {
        let (folder, _, _, cert, key) = pair();
        let none = folder.path("none").display().to_string();
        let text = folder.put("text", "s3cret");
        for (flags, wanted) in [
            (
                format!("--tls-cert-path {none} --tls-key-path {key}"),
                format!("--tls-cert-path: cannot read {none:?}: No such file"),
            ),
            (
                format!("--tls-cert-path {cert} --tls-key-path {none}"),
                format!("--tls-key-path: cannot read {none:?}: No such file"),
            ),
            (
                format!("--tls-cert-path {key} --tls-key-path {key}"),
                format!("--tls-cert-path: {key:?} holds no certificate; expected PEM"),
            ),
            (
                format!("--ca-cert-paths {cert} {text}"),
                format!("--ca-cert-paths: {text:?} holds no certificate"),
            ),
        ] {
            let error = error(&flags).await;
            assert!(error.starts_with(&format!("plimsoll: {wanted}")), "{error}");
        }
    })
    .await;
}
