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
