use std::sync::Arc;

use http::Response;

use crate::{
    LegError, RetryReason, RouteError, RouterBody, answer,
    body::RelayBody,
    legs::{LegBody, nixl::HandOver},
};

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum Attempted {
    /// This is the answer: good or not, another attempt would not better it.
    Answered(Response<RouterBody>),
    /// A leg failed before any byte of an answer was sent.
    Failed(Failure),
}

/// An attempt that another may better.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The worker that failed, by its base URL.
    pub(super) worker: Arc<str>,
    /// How it failed.
    pub(super) reason: RetryReason,
    /// What the client gets if there is no other attempt.
    pub(super) answer: Response<RouterBody>,
    /// What prefill handed over, if decode failed before it saw that.
    pub(super) handed_over: Option<HandOver>,
}

// === impl Attempted ===

impl Attempted {
    /// A worker answered so: an error of its own can be bettered, one of the client's cannot.
    pub(crate) fn head(response: Response<LegBody>) -> Self {
        let is_own = response.status().is_server_error();
        let worker = response.body().culprit().url().clone();
        let answer = RelayBody::answer(response);
        if !is_own {
            return Self::Answered(answer);
        }
        let reason = RetryReason::Status5xx;
        Self::Failed(Failure { worker, reason, answer, handed_over: None })
    }

    /// A leg failed so.
    pub(crate) fn error(error: RouteError) -> Self {
        let answer = answer::error(&error);
        let (worker, reason) = match error {
            RouteError::Leg { worker, source, .. } => (worker, RetryReason::from(&source)),
            RouteError::PrefillUnreadable { worker, .. } => (worker, RetryReason::Status5xx),
            // An error within an answer may be the client's own.
            _ => return Self::Answered(answer),
        };
        Self::Failed(Failure { worker, reason, answer, handed_over: None })
    }
}

// === impl RetryReason ===

impl From<&LegError> for RetryReason {
    fn from(error: &LegError) -> Self {
        match error {
            LegError::Connect(_) => Self::ConnectError,
            #[cfg(feature = "tls")]
            LegError::Tls(_) => Self::ConnectError,
            LegError::Stale(_) => Self::StaleConnection,
            LegError::NoHead(_) | LegError::BadHead(_) | LegError::BrokenOff(_) => Self::Reset,
            LegError::Switched => Self::Status5xx,
            LegError::Idle(_) => Self::Timeout,
        }
    }
}
