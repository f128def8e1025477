use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Tells the front of the line of places that have become free. Costs those who leave one a look at
/// a flag where nobody waits.
#[derive(Debug, Default)]
pub(crate) struct Vacancies {
    is_awaited: AtomicBool,
    notify: Notify,
}

/// Somebody waits for places. There is one at a time.
pub(super) struct Watch<'a>(&'a Vacancies);

// === impl Vacancies ===

impl Vacancies {
    /// A place is free.
    pub(crate) fn tell(&self) {
        if self.is_awaited.load(Ordering::SeqCst) {
            self.notify.notify_one();
        }
    }

    /// From here on, places that become free are told of.
    pub(super) fn watch(&self) -> Watch<'_> {
        self.is_awaited.store(true, Ordering::SeqCst);
        Watch(self)
    }
}

// === impl Watch ===

impl Watch<'_> {
    /// Waits for the next place that becomes free. One that became so since the last wait counts.
    pub(super) async fn next(&self) {
        self.0.notify.notified().await;
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.0.is_awaited.store(false, Ordering::SeqCst);
    }
}
