use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

/// Fires when nothing has come for `limit`.
#[derive(Debug)]
pub(crate) struct Idle {
    limit: Duration,
    last: Instant,
    /// Made at the first wait, and moved on only when it fires: what comes costs no timer.
    sleep: Option<Pin<Box<Sleep>>>,
    /// The task that `sleep` wakes.
    task: Option<Waker>,
}

// === impl Idle ===

impl Idle {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, last: Instant::now(), sleep: None, task: None }
    }

    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Time since something came.
    pub(crate) fn elapsed(&self) -> Duration {
        self.last.elapsed()
    }

    /// Something came.
    pub(crate) fn touch(&mut self) {
        self.last = Instant::now();
    }

    /// The limit has passed.
    pub(crate) fn expire(&mut self) {
        self.last = Instant::now() - self.limit;
    }

    /// Ready when the limit has passed. To be polled whenever what is waited for is pending.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let end = self.last + self.limit;
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(end)));
            let knows = |task: &Waker| task.will_wake(cx.waker());
            if self.task.as_ref().is_some_and(knows) && !sleep.is_elapsed() {
                return Poll::Pending;
            }
            self.task = Some(cx.waker().clone());
            // A task that has read enough for once is told that no timer has fired.
            if !sleep.is_elapsed() && sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if Instant::now() >= end {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(end);
            // Who waits for it must be made known again.
            self.task = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, time::Duration};

    use tokio::time::{Instant, sleep};

    use super::Idle;

    const LIMIT: Duration = Duration::from_secs(1);

    /// The timer that was made for the first wait fires once before that.
    #[tokio::test(start_paused = true)]
    async fn what_came_puts_the_end_off() {
        let (begun, mut idle) = (Instant::now(), Idle::new(LIMIT));
        for _ in 0..3 {
            tokio::select! {
                () = poll_fn(|cx| idle.poll(cx)) => panic!("after {:?}", begun.elapsed()),
                () = sleep(LIMIT * 3 / 4) => idle.touch(),
            }
        }
        poll_fn(|cx| idle.poll(cx)).await;
        let waited = begun.elapsed().as_millis();
        assert!((3250..3270).contains(&waited), "{waited} ms");
    }
}
