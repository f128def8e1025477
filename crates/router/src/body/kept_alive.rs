//! Streams that say something where their engine is silent, so that nothing on the way to the client
//! takes them for dead.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::{RouterBody, tail::StreamTail};
use crate::{RouteError, admission::End, answer, headers, idle::Idle};

/// A comment, which every reader of events skips.
const PING: &[u8] = b": ping\n\n";

/// The largest refusal that is read, in bytes.
const MAX_REFUSAL: usize = 64 << 10;

/// A stream with a comment between its events after each `silence`.
pub(crate) struct KeptAlive {
    state: State,
    tail: StreamTail,
    idle: Idle,
}

/// A refusal in the form of the OpenAI API. Engines have others, which must be put into it: SGLang's
/// own is `{"object":"error","message":…}`.
#[derive(Deserialize)]
struct Refusal<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

type Answer = Pin<Box<dyn Future<Output = Response<RouterBody>> + Send>>;

enum State {
    /// The head is out, its answer not there yet, which will have an ear of its own for the end.
    Waiting(Answer, End),
    /// The answer is no stream: it becomes an event.
    Refused {
        status: StatusCode,
        body: Box<RouterBody>,
        read: Vec<u8>,
    },
    Open(Box<RouterBody>),
    Ended,
}

/// The answer to a request for a stream. If it is not there after a `silence`, the head of a stream
/// goes out before it is known how the request will end, and a failure becomes an event.
pub(crate) async fn kept_alive(
    answer: impl Future<Output = Response<RouterBody>> + Send + 'static,
    silence: Duration,
    end: End,
) -> Response<RouterBody> {
    let mut answer: Answer = Box::pin(answer);
    match timeout(silence, &mut answer).await {
        Ok(response) if is_stream(&response) => {
            response.map(|body| KeptAlive::new(State::Open(Box::new(body)), silence).into())
        }
        Ok(response) => response,
        Err(_) => {
            let mut body = KeptAlive::new(State::Waiting(answer, end), silence);
            body.idle.expire();
            let mut response = Response::new(body.into());
            let headers = response.headers_mut();
            let events = HeaderValue::from_static("text/event-stream; charset=utf-8");
            headers.insert(header::CONTENT_TYPE, events);
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            response
        }
    }
}

fn is_stream(response: &Response<RouterBody>) -> bool {
    response.status().is_success() && headers::is_event_stream(response.headers())
}

/// The event that says what an answer says that is no stream.
fn event_of(status: StatusCode, body: &[u8]) -> Bytes {
    let json: Option<&RawValue> = serde_json::from_slice(body).ok();
    // One event is one line: pretty JSON has line ends, which mean nothing in it.
    let text = json.map(|json| json.get().replace(['\r', '\n'], " "));
    let has_error =
        |text| serde_json::from_str(text).is_ok_and(|Refusal { error }| error.is_some());
    let event = match text {
        Some(text) if status.is_success() || has_error(&text) => text,
        Some(text) => format!("{{\"error\":{text}}}"),
        None => format!("{{\"error\":{{\"message\":\"a worker answered {status}\"}}}}"),
    };
    format!("data: {event}\n\n").into()
}

// === impl KeptAlive ===

impl KeptAlive {
    fn new(state: State, silence: Duration) -> Self {
        Self { state, tail: StreamTail::default(), idle: Idle::new(silence) }
    }

    /// Ends the stream by an error, whether its answer has begun or not.
    pub(super) fn stop(&mut self, error: &RouteError) -> Frame<Bytes> {
        let event = answer::error_event(error);
        self.state = State::Ended;
        Frame::data([self.tail.closing(), &event].concat().into())
    }

    /// The next frame of the answer.
    fn poll_answer(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RouteError>>> {
        loop {
            match &mut self.state {
                State::Waiting(answer, _) => {
                    let response = ready!(answer.as_mut().poll(cx));
                    let (status, streams) = (response.status(), is_stream(&response));
                    let body = Box::new(response.into_body());
                    self.state = match streams {
                        true => State::Open(body),
                        false => State::Refused { status, body, read: Vec::new() },
                    };
                }
                State::Refused { status, body, read } => {
                    match ready!(Pin::new(body).poll_frame(cx)) {
                        Some(Ok(frame)) if read.len() < MAX_REFUSAL => {
                            read.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
                        }
                        _ => {
                            let event = event_of(*status, read);
                            self.state = State::Ended;
                            return Poll::Ready(Some(Ok(Frame::data(event))));
                        }
                    }
                }
                State::Open(body) => {
                    let frame = ready!(Pin::new(body).poll_frame(cx));
                    if let Some(Ok(frame)) = &frame {
                        self.tail.push(frame.data_ref().map_or(&[], |data| data));
                    }
                    return Poll::Ready(frame);
                }
                State::Ended => return Poll::Ready(None),
            }
        }
    }
}

impl Body for KeptAlive {
    type Data = Bytes;
    type Error = RouteError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RouteError>>> {
        loop {
            if let Poll::Ready(frame) = self.poll_answer(cx) {
                self.idle.touch();
                return Poll::Ready(frame);
            }
            let is_over = match &mut self.state {
                State::Waiting(_, end) => end.poll(cx),
                _ => false,
            };
            if is_over {
                return Poll::Ready(Some(Ok(self.stop(&RouteError::Stopping))));
            }
            ready!(self.idle.poll(cx));
            self.idle.touch();
            // Within an event there is nothing to be said.
            if self.tail.closing().is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(PING)))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Open(body) => body.is_end_stream(),
            State::Ended => true,
            State::Waiting(..) | State::Refused { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

impl fmt::Debug for KeptAlive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptAlive").field("idle", &self.idle).finish_non_exhaustive()
    }
}
