//! Response bodies: one piece, or events as they come, with the faults that strike them.

use std::{
    fmt,
    future::{Future, poll_fn},
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::{faults::FaultAction, sync::lock};

/// A response body.
#[derive(Debug)]
pub(crate) struct SimBody {
    content: Content,
    fault: Option<FaultAction>,
    /// What an error event holds.
    error_event: &'static [u8],
    sent: usize,
    /// Whether what was sent before a cut is on its way: hyper drops what it has not written.
    flushed: bool,
    delay: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
enum Content {
    Whole(Option<Bytes>),
    Events(Events),
}

// === impl SimBody ===

impl SimBody {
    /// A body of one piece.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::new(Content::Whole(Some(bytes.into())))
    }

    /// A body of events, each sent as one HTTP chunk, made by a future that is dropped with the
    /// body.
    pub(crate) fn events<F>(produce: impl FnOnce(Outlet) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let slot = Outlet::default();
        let events = Events { producer: Some(Box::pin(produce(slot.clone()))), slot };
        Self::new(Content::Events(events))
    }

    fn new(content: Content) -> Self {
        Self { content, fault: None, error_event: &[], sent: 0, flushed: false, delay: None }
    }

    /// Lets a fault strike the body. Actions that concern the head do nothing here, nor does an
    /// error event where there are no events.
    pub(crate) fn with_fault(self, fault: Option<FaultAction>, error_event: &'static [u8]) -> Self {
        let whole = matches!(self.content, Content::Whole(_));
        let fault =
            fault.filter(|fault| !(whole && matches!(fault, FaultAction::ErrorEventAfter(_))));
        Self { fault, error_event, ..self }
    }

    /// What a fault sends instead of the next event, once its number is reached.
    fn poll_fault(&mut self, context: &mut Context<'_>) -> Poll<Option<Step>> {
        match self.fault {
            Some(FaultAction::CutAfterEvents(events)) if self.sent >= events => {
                if !std::mem::replace(&mut self.flushed, true) {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Ready(Some(Some(Err(io::ErrorKind::ConnectionAborted.into()))))
            }
            Some(FaultAction::TruncateAfterEvents(events)) if self.sent >= events => {
                self.content = Content::Whole(None);
                Poll::Ready(Some(None))
            }
            Some(FaultAction::ErrorEventAfter(events)) if self.sent >= events => {
                self.fault = None;
                self.content = Content::Whole(Some(Bytes::from_static(b"data: [DONE]\n\n")));
                Poll::Ready(Some(Some(Ok(Bytes::from_static(self.error_event)))))
            }
            Some(FaultAction::StallAfterEvents(events)) if self.sent >= events => Poll::Pending,
            Some(FaultAction::DelayPerEvent(time)) => {
                let delay = self.delay.get_or_insert_with(|| Box::pin(sleep(time)));
                ready!(delay.as_mut().poll(context));
                Poll::Ready(None)
            }
            _ => Poll::Ready(None),
        }
    }
}

/// A piece of a body, its failure, or its end.
type Step = Option<Result<Bytes, io::Error>>;

impl Body for SimBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(step) = ready!(self.poll_fault(context)) {
            return Poll::Ready(step.map(|piece| piece.map(Frame::data)));
        }
        let piece = match &mut self.content {
            Content::Whole(bytes) => bytes.take(),
            Content::Events(events) => ready!(events.poll_next(context)),
        };
        self.sent += 1;
        self.delay = None;
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.fault.is_none() && matches!(self.content, Content::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.content, &self.fault) {
            (Content::Whole(bytes), None) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            _ => SizeHint::default(),
        }
    }
}

/// Where a producer puts its events. Holds one, so a producer is never more than one ahead.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outlet(Arc<Mutex<Option<Bytes>>>);

// === impl Outlet ===

impl Outlet {
    /// Sends an event, waiting until the one before is taken.
    ///
    /// No waker is kept: whoever takes an event polls the producer again for the next.
    pub(crate) async fn send(&self, event: impl Into<Bytes>) {
        let mut event = Some(event.into());
        poll_fn(|_| {
            let mut slot = lock(&self.0);
            if slot.is_some() {
                return Poll::Pending;
            }
            *slot = event.take();
            Poll::Ready(())
        })
        .await;
    }

    fn take(&self) -> Option<Bytes> {
        lock(&self.0).take()
    }
}

/// Events and the future that makes them.
struct Events {
    producer: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    slot: Outlet,
}

// === impl Events ===

impl Events {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(producer) = &mut self.producer {
            if producer.as_mut().poll(context).is_ready() {
                self.producer = None;
            }
        }
        match self.slot.take() {
            None if self.producer.is_some() => Poll::Pending,
            event => Poll::Ready(event),
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("done", &self.producer.is_none()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    fn counting() -> SimBody {
        SimBody::events(|outlet| async move {
            for event in ["a", "b", "c"] {
                outlet.send(event).await;
                tokio::task::yield_now().await;
            }
        })
    }

    #[tokio::test]
    async fn events_come_one_a_frame() {
        let mut body = counting();
        let mut frames = Vec::new();
        while let Some(frame) = body.frame().await {
            frames.push(frame.unwrap().into_data().unwrap());
        }
        assert_eq!(frames, ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn faults_count_events() {
        let cut = counting().with_fault(Some(FaultAction::CutAfterEvents(1)), b"data: {\"error\"");
        assert!(cut.collect().await.is_err());
        let short =
            counting().with_fault(Some(FaultAction::TruncateAfterEvents(2)), b"data: {\"error\"");
        assert_eq!(short.collect().await.unwrap().to_bytes(), "ab");
        let error =
            counting().with_fault(Some(FaultAction::ErrorEventAfter(1)), b"data: {\"error\"");
        let error = error.collect().await.unwrap().to_bytes();
        assert!(error.starts_with(b"adata: {\"error\"") && error.ends_with(b"data: [DONE]\n\n"));
    }
}
