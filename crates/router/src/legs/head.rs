use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response, StatusCode};
use http_body_util::Full;
use plimsoll_wire::Splice;

use super::LegBody;
use crate::{
    AttemptResult, LegError, RouteError,
    client::{Client, Reuse, Sent},
    headers,
    idle::Idle,
    workers::Attempt,
};

/// A connection that dies later than this after a request was not old: the worker had the request.
const GREW_OLD: Duration = Duration::from_secs(1);

/// The wait for one worker's answer to begin. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Head {
    response: Sent,
    /// There until the answer begins.
    waiting: Option<(Attempt, Idle)>,
}

// === impl Head ===

impl Head {
    /// Sends `request` to a worker, whose bytes may be `idle_limit` apart.
    pub(crate) fn send(
        client: &Client,
        attempt: Attempt,
        request: Request<Full<Splice>>,
        reuse: Reuse,
        idle_limit: Duration,
    ) -> Self {
        let response = client.send(attempt.worker(), request, reuse);
        Self { response, waiting: Some((attempt, Idle::new(idle_limit))) }
    }

    /// Who reads the answer says whether it is good.
    pub(super) fn withhold(&mut self) {
        if let Some((attempt, _)) = &mut self.waiting {
            attempt.withhold();
        }
    }

    /// The other leg failed so.
    pub(super) fn blame(&mut self, error: &RouteError) {
        if let Some((attempt, _)) = &mut self.waiting {
            attempt.blame(error, true);
        }
    }
}

impl Future for Head {
    type Output = Result<Response<LegBody>, RouteError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { response, waiting } = self.get_mut();
        let Some((_, idle)) = waiting else { return Poll::Pending };
        let result = match Pin::new(response).poll(cx) {
            Poll::Ready(Err(LegError::Stale(error))) if idle.elapsed() > GREW_OLD => {
                Err(LegError::NoHead(error))
            }
            Poll::Ready(Ok(response)) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                Err(LegError::Switched)
            }
            Poll::Ready(result) => result,
            Poll::Pending if idle.poll(cx).is_pending() => return Poll::Pending,
            Poll::Pending => Err(LegError::Idle(idle.limit())),
        };
        let Some((mut attempt, idle)) = waiting.take() else { return Poll::Pending };
        Poll::Ready(match result {
            Ok(response) => {
                if let Some(result) = result_of(response.status()) {
                    attempt.settle(result);
                }
                let is_success = response.status().is_success();
                let mut response =
                    response.map(|body| LegBody::new(body, attempt, idle, is_success));
                headers::for_client(&mut response);
                Ok(response)
            }
            Err(error) => Err(attempt.fail(error)),
        })
    }
}

/// A status that already says how the leg ends.
fn result_of(status: StatusCode) -> Option<AttemptResult> {
    match status.as_u16() {
        400..500 => Some(AttemptResult::Status4xx),
        500.. => Some(AttemptResult::Status5xx),
        _ => None,
    }
}

// === impl Attempt ===

impl Attempt {
    /// The leg failed: notes the result and says whose leg it was.
    pub(super) fn fail(&mut self, error: LegError) -> RouteError {
        match &error {
            LegError::Connect(_) => self.settle(AttemptResult::ConnectError),
            #[cfg(feature = "tls")]
            LegError::Tls(_) => self.settle(AttemptResult::ConnectError),
            LegError::NoHead(_) | LegError::BadHead(_) | LegError::BrokenOff(_) => {
                self.settle(AttemptResult::Reset);
            }
            LegError::Switched => self.settle(AttemptResult::Status5xx),
            LegError::Idle(_) => self.settle(AttemptResult::Timeout),
            // A connection grows old on its own.
            LegError::Stale(_) => self.excuse(AttemptResult::Reset),
        }
        let worker = match error {
            LegError::Idle(_) => self.culprit(),
            _ => self.worker(),
        };
        tracing::warn!("{} worker {} {error}", worker.role(), worker.url());
        RouteError::leg(worker, error)
    }
}
