use std::{error::Error, iter, sync::Arc, time::Duration};

use http::StatusCode;
use plimsoll_wire::{Engine, PeekError, Role};

use crate::{AdminError, Worker, request::BoxError};

/// Why a worker's leg of a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LegError {
    /// No connection.
    #[error("cannot be reached")]
    Connect(#[source] BoxError),
    /// No TLS with it.
    #[cfg(feature = "tls")]
    #[error("cannot be reached by TLS: {0}")]
    Tls(#[source] crate::TlsFault),
    /// The connection died before the answer's head.
    #[error("closed the connection before it answered")]
    NoHead(#[source] hyper::Error),
    /// What came instead of an answer's head is none, or too large.
    #[error("answered what is no HTTP/1.1: {}", innermost(.0))]
    BadHead(#[source] hyper::Error),
    /// A connection that had served before died under the request, before the answer's head.
    #[error("closed an idle connection")]
    Stale(#[source] hyper::Error),
    /// It left the protocol, which nobody had asked for.
    #[error("answered 101, but no other protocol was asked for")]
    Switched,
    /// The connection died within the answer's body.
    #[error("broke off its answer: {}", innermost(.0))]
    BrokenOff(#[source] hyper::Error),
    /// No byte came for too long.
    #[error("sent nothing for {} s", .0.as_secs_f64())]
    Idle(Duration),
}

/// Why the router answers a request itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// No worker of a needed role is eligible.
    #[error("no {0} worker is available for this; GET /workers says why")]
    NoWorker(Role),
    /// No worker of a needed role serves the model.
    #[error("no worker serves the model '{0}'; GET /v1/models lists those that are served")]
    ModelNotFound(String),
    /// Too many wait already.
    #[error("too many requests: {waiting} are waiting (--queue-size)")]
    Overloaded {
        /// How many wait.
        waiting: usize,
    },
    /// The wait was too long.
    #[error("there was no room for the request within {} s (--queue-timeout-secs)", .0.as_secs_f64())]
    QueueTimeout(Duration),
    /// The process ends.
    #[error("the router is stopping")]
    Stopping,
    /// The pair's engines cannot serve this route.
    #[error("{path} is not served by {engine}prefill/decode pairs; it needs plain workers (--worker-urls)", engine = .engine.map_or(String::new(), |engine| format!("{engine} ")))]
    NotPaired {
        /// The path asked for.
        path: String,
        /// The engine that does not serve it, where others would.
        engine: Option<Engine>,
    },
    /// A leg failed.
    #[error("the {role} worker {worker} {source}")]
    Leg {
        /// Whose leg.
        role: Role,
        /// Its base URL.
        worker: Arc<str>,
        /// Why.
        source: LegError,
    },
    /// A worker refused a request whose answer had begun.
    #[error("the {role} worker {worker} answered {status}")]
    LateStatus {
        /// What the worker does.
        role: Role,
        /// Its base URL.
        worker: Arc<str>,
        /// What it answered.
        status: StatusCode,
    },
    /// The prefill worker's own answer held an error.
    #[error("the prefill worker {worker} reported an error{}{said}", if said.is_empty() { "" } else { ": " })]
    PrefillReported {
        /// Its base URL.
        worker: Arc<str>,
        /// Its message, if it could be read.
        said: String,
    },
    /// The prefill worker's answer cannot be read.
    #[error("the prefill worker {worker} answered what cannot be read: {fault}")]
    PrefillUnreadable {
        /// Its base URL.
        worker: Arc<str>,
        /// What is wrong with it.
        fault: String,
    },
    /// The body is larger than allowed.
    #[error("the request body is larger than {limit} bytes (--max-payload-size)")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The client left while it sent its request: nobody gets this answer.
    #[error("the client has left")]
    ClientLeft,
    /// The body broke off.
    #[error("the request body could not be read to its end")]
    BodyBroke,
    /// No more of the body came.
    #[error("the rest of the request body did not come in time")]
    BodyStalled,
    /// The body is not JSON.
    #[error("{0}")]
    NotJson(String),
    /// It names more than one host, so a proxy may have taken it for another request.
    #[error("the request names more than one host")]
    Hosts,
    /// The body is in a coding that nobody here undoes (RFC 9112, section 6.1).
    #[error("the transfer-encoding '{0}' is not served: send a content-length, or chunked alone")]
    TransferCoding(String),
    /// A field or header that steers the engine.
    #[error("'{0}' is set by the router and may not come from a client (--allow-client-routing)")]
    Steering(String),
    /// More than one answer a prompt.
    #[error(
        "{choices} choices were asked for, and {engine} prefill/decode pairs can give one: \
         set n, best_of and sampling_params.n to 1, or send the request {choices} times"
    )]
    Choices {
        /// How many.
        choices: u32,
        /// Of what the pair is.
        engine: Engine,
    },
    /// More than one prompt.
    #[error(
        "{prompts} prompts were sent, and {engine} prefill/decode pairs hand over the KV cache of \
         one: send a request for each"
    )]
    Prompts {
        /// How many.
        prompts: usize,
        /// Of what the pair is.
        engine: Engine,
    },
    /// More prompts than anybody needs in one request.
    #[error("{prompts} prompts were sent, and a request may have {limit}: send several")]
    ManyPrompts {
        /// How many.
        prompts: usize,
        /// How many there may be.
        limit: usize,
    },
    /// The key is missing or wrong.
    #[error("the API key is missing or wrong: send it as 'authorization: Bearer KEY'")]
    Unauthorized,
    /// No such route.
    #[error("there is no {path} here")]
    NotFound {
        /// The path asked for.
        path: String,
    },
    /// The metrics are elsewhere.
    #[error("the metrics are at {0}")]
    MetricsElsewhere(String),
    /// The route knows other methods.
    #[error("{path} takes {allow}")]
    Method {
        /// The path asked for.
        path: String,
        /// The methods that it takes.
        allow: &'static str,
    },
    /// The workers were not changed.
    #[error(transparent)]
    Admin(#[from] AdminError),
}

/// An error, what caused it, and what caused that.
pub(crate) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

/// What is at the bottom of an error: hyper's own words say only where it happened.
pub(crate) fn innermost(error: &hyper::Error) -> &(dyn Error + 'static) {
    causes(error).last().unwrap_or(error)
}

// === impl RouteError ===

impl RouteError {
    pub(crate) fn leg(worker: &Worker, source: LegError) -> Self {
        Self::Leg { role: worker.role(), worker: worker.url().clone(), source }
    }

    /// The worker that said nothing for too long.
    pub(crate) fn silent_worker(&self) -> Option<&Arc<str>> {
        match self {
            Self::Leg { worker, source: LegError::Idle(_), .. } => Some(worker),
            _ => None,
        }
    }

    /// Seconds after which the client may try again.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        let passes = self.is_refusal() && !matches!(self, Self::NotPaired { .. });
        passes.then_some(1)
    }

    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NoWorker(_) | Self::QueueTimeout(_) | Self::Stopping => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Overloaded { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::NotPaired { .. } | Self::TransferCoding(_) => StatusCode::NOT_IMPLEMENTED,
            Self::Leg { source: LegError::Idle(_), .. } => StatusCode::GATEWAY_TIMEOUT,
            Self::Leg { .. }
            | Self::LateStatus { .. }
            | Self::PrefillReported { .. }
            | Self::PrefillUnreadable { .. } => StatusCode::BAD_GATEWAY,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyStalled => StatusCode::REQUEST_TIMEOUT,
            Self::ClientLeft
            | Self::BodyBroke
            | Self::NotJson(_)
            | Self::Hosts
            | Self::Steering(_)
            | Self::Choices { .. }
            | Self::Prompts { .. }
            | Self::ManyPrompts { .. } => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::NotFound { .. } | Self::MetricsElsewhere(_) | Self::ModelNotFound(_) => {
                StatusCode::NOT_FOUND
            }
            Self::Method { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::Admin(error) => error.status(),
        }
    }

    /// The router refused what a better time or place might serve.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::NoWorker(_)
                | Self::NotPaired { .. }
                | Self::Overloaded { .. }
                | Self::QueueTimeout(_)
                | Self::Stopping
        )
    }

    /// The `code` member of the answer.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NoWorker(_) => "no_worker_available",
            Self::ModelNotFound(_) => "model_not_found",
            Self::Overloaded { .. } => "overloaded",
            Self::QueueTimeout(_) => "queue_timeout",
            Self::Stopping => "stopping",
            Self::NotPaired { .. } | Self::TransferCoding(_) => "not_supported",
            Self::Leg { source: LegError::Idle(_), .. } => "upstream_timeout",
            Self::Leg { .. }
            | Self::LateStatus { .. }
            | Self::PrefillReported { .. }
            | Self::PrefillUnreadable { .. } => "upstream_error",
            Self::TooLarge { .. } => "request_too_large",
            Self::ClientLeft | Self::BodyBroke => "incomplete_body",
            Self::BodyStalled => "request_timeout",
            Self::NotJson(_) => "invalid_json",
            Self::Hosts => "invalid_request",
            Self::Steering(_) => "field_not_allowed",
            Self::Choices { .. } | Self::Prompts { .. } | Self::ManyPrompts { .. } => {
                "unsupported_value"
            }
            Self::Unauthorized => "invalid_api_key",
            Self::NotFound { .. } | Self::MetricsElsewhere(_) => "not_found",
            Self::Method { .. } => "method_not_allowed",
            Self::Admin(error) => error.code(),
        }
    }

    /// The `param` member of the answer.
    pub(crate) fn param(&self) -> Option<&str> {
        match self {
            Self::Steering(field) => Some(field),
            Self::Choices { .. } => Some("n"),
            Self::Prompts { .. } | Self::ManyPrompts { .. } => Some("prompt"),
            Self::ModelNotFound(_) => Some("model"),
            Self::Admin(error) => error.param(),
            _ => None,
        }
    }
}

impl From<&PeekError> for RouteError {
    fn from(error: &PeekError) -> Self {
        Self::NotJson(error.to_string())
    }
}
