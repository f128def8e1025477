//! A proxy for OpenAI-format traffic to prefill/decode pairs and to plain workers.
//!
//! A [`Cluster`] is what is one for the whole process: the workers, what is known of them, their
//! positions and counts. A [`Router`] is the tower service that sends requests to them; each serving
//! thread has one with connections of its own.
//!
//! A request's body is read once, looked at once ([`plimsoll_wire::peek`]) and edited as bytes. Both
//! legs of a pair are sent from the request's own future, and the answer goes to the client frame by
//! frame as it comes: nothing is spawned for a request, nothing is buffered but its body. One thing
//! may outlive a request: the reply of its prefill worker, which says how much of the prompt was
//! cached, is read for at most 2 s after the client has its whole answer.

mod about;
mod admin;
mod admission;
mod answer;
mod body;
mod client;
mod cluster;
mod config;
mod dispatch;
mod error;
mod headers;
mod idle;
mod legs;
mod load;
mod policies;
mod request;
mod room;
mod route;
mod service;
mod workers;

#[cfg(feature = "tls")]
pub use self::client::TlsFault;
pub use self::{
    admin::{AdminError, PeerAddr},
    admission::{AdmissionConfig, QueueWaits, WAIT_BOUNDS},
    body::RouterBody,
    cluster::{Cluster, Removal, Retries, RetryReason},
    config::{HealthConfig, InFlightConfig, PolicyConfig, RetryConfig, RouterConfig},
    error::{LegError, RouteError},
    load::LoadSource,
    policies::{AffinityConfig, Load, PolicyKind},
    service::{Router, RouterFuture},
    workers::{Address, AddressError, AttemptResult, BreakerConfig, BreakerState, Worker},
};
