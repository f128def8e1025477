use http::StatusCode;
use plimsoll_wire::{Role, topology::UnknownWord};

use crate::AddressError;

/// Why the workers were not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// The caller is elsewhere, and there is no key to know it by.
    #[error(
        "without --api-key, workers may be changed only from the router's own host, and not \
         through a proxy or a web page"
    )]
    NotLocal,
    /// A web page asks, and there is no key that it could know.
    #[error("without --api-key, caches are not emptied for a web page")]
    OfPage,
    /// The description is not what it should be.
    #[error(
        "the body describes no worker: {0}; expected {{\"url\":\"http://HOST:PORT\",\
         \"role\":\"prefill|decode|plain\",\"bootstrap_port\":N|null}}"
    )]
    Body(String),
    /// The description is larger than one can be.
    #[error("the description of a worker is larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// A role that there is not.
    #[error("the role {0}")]
    UnknownRole(#[source] UnknownWord),
    /// The URL is none of a worker.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The role does not fit the mode, which the workers at the start have fixed.
    #[error("{}", role_message(*.role, *.paired))]
    Role {
        /// The worker's role.
        role: Role,
        /// The router serves prefill/decode pairs.
        paired: bool,
    },
    /// A bootstrap port where none is used.
    #[error("a {role} worker has no bootstrap port; only prefill workers have one")]
    BootstrapPort {
        /// The worker's role.
        role: Role,
    },
    /// The worker is there already.
    #[error("{url} is a worker already{}", if *.draining { ", still draining: add it again once it has gone" } else { "" })]
    Present {
        /// Its base URL.
        url: String,
        /// It is to go.
        draining: bool,
    },
    /// There is no such worker.
    #[error("no worker is at {url:?}; GET /workers lists them")]
    Unknown {
        /// The URL asked for.
        url: String,
    },
}

fn role_message(role: Role, paired: bool) -> String {
    if paired {
        format!("a {role} worker does not fit: this router serves pairs, of prefill and decode")
    } else {
        format!(
            "a {role} worker does not fit: this router serves plain workers; pairs need one that \
             was started with --pd-disaggregation"
        )
    }
}

// === impl AdminError ===

impl AdminError {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NotLocal | Self::OfPage => StatusCode::FORBIDDEN,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Present { .. } => StatusCode::CONFLICT,
            Self::Unknown { .. } => StatusCode::NOT_FOUND,
            Self::Body(_)
            | Self::UnknownRole(_)
            | Self::Address(_)
            | Self::Role { .. }
            | Self::BootstrapPort { .. } => StatusCode::BAD_REQUEST,
        }
    }

    /// The `code` member of the answer.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NotLocal | Self::OfPage => "not_allowed",
            Self::TooLarge { .. } => "request_too_large",
            Self::Present { .. } => "worker_exists",
            Self::Unknown { .. } => "worker_not_found",
            Self::Body(_) => "invalid_worker",
            Self::UnknownRole(_)
            | Self::Address(_)
            | Self::Role { .. }
            | Self::BootstrapPort { .. } => "invalid_value",
        }
    }

    /// The `param` member of the answer.
    pub(crate) fn param(&self) -> Option<&'static str> {
        match self {
            Self::Address(_) | Self::Present { .. } => Some("url"),
            Self::UnknownRole(_) | Self::Role { .. } => Some("role"),
            Self::BootstrapPort { .. } => Some("bootstrap_port"),
            Self::NotLocal
            | Self::OfPage
            | Self::Body(_)
            | Self::TooLarge { .. }
            | Self::Unknown { .. } => None,
        }
    }
}
