use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Tells those who look for a place of each that has become free. Costs those who leave one a look at
/// two flags where nobody waits.
#[derive(Debug, Default)]
pub(crate) struct Vacancies {
    /// For the front of the line.
    pub(super) front: Bell,
    /// For a request that is tried again.
    pub(super) again: Bell,
}

/// Rings for one at a time.
#[derive(Debug, Default)]
pub(super) struct Bell {
    is_awaited: AtomicBool,
    notify: Notify,
}

/// Somebody waits for places.
pub(super) struct Watch<'a>(&'a Bell);

// === impl Vacancies ===

impl Vacancies {
    /// A place is free.
    pub(crate) fn tell(&self) {
        self.again.ring();
        self.front.ring();
    }
}

// === impl Bell ===

impl Bell {
    fn ring(&self) {
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
