//! What can go wrong when an engine is set up.

use std::{io, net::SocketAddr};

/// A simulated engine could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The HTTP or bootstrap address cannot be bound.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address asked for.
        addr: SocketAddr,
        /// Why not.
        source: io::Error,
    },
}

/// A word that names no role.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no role: use prefill, decode or plain")]
pub struct RoleError(pub String);
