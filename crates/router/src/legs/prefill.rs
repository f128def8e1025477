//! The leg of the prefill worker.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame};
use plimsoll_wire::{
    Endpoint,
    reply::{Asked, ReplyReader},
    upstream::{PrefillReport, PrefillReporter},
};
use tokio::{
    runtime,
    time::{self, Instant},
};
use tokio_util::task::TaskTracker;

use super::{Head, LegBody, said::message};
use crate::{RouteError, dispatch::Attempted, headers};

/// How long a prefill worker's reply is waited for once the client has its whole answer.
const MAX_TAIL: Duration = Duration::from_secs(2);

/// Reads the prefill worker's reply to its end and makes known what it states. The client gets none
/// of it, unless it is a failure.
#[derive(Debug)]
pub(crate) struct Prefill {
    state: State,
    endpoint: Endpoint,
    asked: Asked,
    started: Instant,
    /// There until the reply has ended.
    reporter: Option<PrefillReporter>,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a request has one, and most of the time it is large"
)]
enum State {
    Head(Head),
    Body {
        body: LegBody,
        reader: ReplyReader,
        /// What came last: it says why, if it is an error.
        last: Bytes,
    },
    Over,
}

/// Why the prefill leg failed.
#[derive(Debug)]
pub(crate) enum PrefillFailure {
    /// The transport, or an error within the reply.
    Error(RouteError),
    /// The worker answered with an error status, which is the answer if none has begun.
    Answer(Box<Response<LegBody>>),
}

/// The prefill leg beside an answer under way.
#[derive(Debug)]
pub(crate) struct Tail {
    /// There until the reply has ended.
    prefill: Option<Prefill>,
    answered: bool,
    /// Those that are left to end by themselves.
    tails: TaskTracker,
}

// === impl Prefill ===

impl Prefill {
    pub(crate) fn new(
        mut head: Head,
        endpoint: Endpoint,
        asked: Asked,
        reporter: PrefillReporter,
    ) -> Self {
        head.withhold();
        let (state, started) = (State::Head(head), Instant::now());
        Self { state, endpoint, asked, started, reporter: Some(reporter) }
    }
}

impl Future for Prefill {
    type Output = Result<(), PrefillFailure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { state, endpoint, asked, started, reporter } = self.get_mut();
        loop {
            match state {
                State::Head(head) => {
                    let response =
                        ready!(Pin::new(head).poll(cx)).map_err(PrefillFailure::Error)?;
                    if !response.status().is_success() {
                        *state = State::Over;
                        return Poll::Ready(Err(PrefillFailure::Answer(response.into())));
                    }
                    let is_stream = headers::is_event_stream(response.headers());
                    let reader = ReplyReader::new(*endpoint, *asked, is_stream);
                    *state = State::Body { body: response.into_body(), reader, last: Bytes::new() };
                }
                State::Body { body, reader, last } => {
                    let mut error = false;
                    let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
                    let frame = frame.transpose().map_err(PrefillFailure::Error)?;
                    if let Some(data) = frame.as_ref().and_then(Frame::data_ref) {
                        reader.push(data, |facts| error |= facts.error);
                        *last = data.clone();
                    }
                    let ended = frame.is_none() || body.is_end_stream();
                    let reply = ended.then(|| reader.finish(true, |_| {}));
                    if error || reply.as_ref().is_some_and(|reply| reply.error) {
                        let said = message(last).unwrap_or_default();
                        let error =
                            body.report(|worker| RouteError::PrefillReported { worker, said });
                        *state = State::Over;
                        return Poll::Ready(Err(PrefillFailure::Error(error)));
                    }
                    if let Some(reply) = reply {
                        body.accept();
                        if let Some(reporter) = reporter.take() {
                            let (usage, duration) = (reply.usage, started.elapsed());
                            reporter.send(PrefillReport { usage, duration });
                        }
                        *state = State::Over;
                    }
                }
                State::Over => return Poll::Ready(Ok(())),
            }
        }
    }
}

// === impl PrefillFailure ===

impl PrefillFailure {
    /// It is an error within the reply, whoever caused it.
    pub(super) fn is_reported(&self) -> bool {
        matches!(self, Self::Error(RouteError::PrefillReported { .. }))
    }

    /// What to say of it within an answer that has begun.
    pub(crate) fn into_error(self) -> RouteError {
        match self {
            Self::Error(error) => error,
            Self::Answer(response) => {
                let worker = response.body().worker();
                let (role, worker) = (worker.role(), worker.url().clone());
                RouteError::LateStatus { role, worker, status: response.status() }
            }
        }
    }

    /// What it means before an answer has begun.
    pub(crate) fn into_attempted(self) -> Attempted {
        match self {
            Self::Error(error) => Attempted::error(error),
            Self::Answer(response) => Attempted::head(*response),
        }
    }
}

// === impl Tail ===

impl Tail {
    pub(crate) fn new(prefill: Prefill, tails: TaskTracker) -> Self {
        Self { prefill: Some(prefill), answered: false, tails }
    }

    /// Ready if the leg fails; pending for good once it has ended well.
    pub(crate) fn poll_failure(&mut self, cx: &mut Context<'_>) -> Poll<PrefillFailure> {
        let Some(prefill) = &mut self.prefill else { return Poll::Pending };
        let result = ready!(Pin::new(prefill).poll(cx));
        self.prefill = None;
        result.err().map_or(Poll::Pending, Poll::Ready)
    }

    /// Decode's leg failed so.
    pub(super) fn blame(&mut self, error: &RouteError) {
        match self.prefill.as_mut().map(|prefill| &mut prefill.state) {
            Some(State::Head(head)) => head.blame(error),
            Some(State::Body { body, .. }) => body.blame(error),
            Some(State::Over) | None => {}
        }
    }

    /// The client has its whole answer.
    pub(crate) fn set_answered(&mut self) {
        self.answered = true;
    }
}

impl Drop for Tail {
    /// Leaves the leg to end by itself if the client has its answer; else it is cancelled.
    fn drop(&mut self) {
        if let Some(prefill) = self.prefill.take().filter(|_| self.answered) {
            if let Ok(runtime) = runtime::Handle::try_current() {
                self.tails.spawn_on(time::timeout(MAX_TAIL, prefill), &runtime);
            }
        }
    }
}
