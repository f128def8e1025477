//! The end of all requests that are in.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Context,
};

use tokio::sync::{Notify, futures::OwnedNotified};

/// The word that all requests are to end.
#[derive(Debug, Default)]
pub(crate) struct Cut {
    given: AtomicBool,
    bell: Arc<Notify>,
}

/// One request's ear for it.
pub(crate) struct End {
    cut: Arc<Cut>,
    /// There where nobody polls the request for it: the streams of an HTTP/2 connection are tasks of
    /// their own.
    woken: Option<Pin<Box<OwnedNotified>>>,
}

// === impl Cut ===

impl Cut {
    /// Gives the word.
    pub(crate) fn give(&self) {
        self.given.store(true, Ordering::Release);
        self.bell.notify_waiters();
    }
}

// === impl End ===

impl End {
    pub(crate) fn new(cut: &Arc<Cut>, wakes: bool) -> Self {
        let woken = wakes.then(|| Box::pin(cut.bell.clone().notified_owned()));
        Self { cut: cut.clone(), woken }
    }

    /// Whether the word was given.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let rings = self.woken.as_mut().is_some_and(|woken| woken.as_mut().poll(cx).is_ready());
        if rings {
            self.woken = None;
        }
        self.cut.given.load(Ordering::Acquire)
    }
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("End").field("cut", &self.cut.given).finish_non_exhaustive()
    }
}
