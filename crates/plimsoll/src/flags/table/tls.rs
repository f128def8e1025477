//! Flags about TLS, with clients and with engines.

use std::path::PathBuf;

use clap::Args;

/// Whom to show which certificate, and whom to trust.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct Tls {
    /// Certificate and its chain (PEM) for clients: the serving port then speaks TLS, and only that
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert_path: Option<PathBuf>,

    /// Private key (PEM) of --tls-cert-path
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key_path: Option<PathBuf>,

    /// Issuers (PEM) that https:// engines are trusted by, beside those that this machine trusts
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub(crate) ca_cert_paths: Vec<PathBuf>,

    /// Certificate and its chain (PEM) for engines that ask for one
    #[arg(long, value_name = "FILE")]
    pub(crate) client_cert_path: Option<PathBuf>,

    /// Private key (PEM) of --client-cert-path
    #[arg(long, value_name = "FILE")]
    pub(crate) client_key_path: Option<PathBuf>,
}
