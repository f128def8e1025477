use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use super::Sink;
use crate::Record;

/// A sink that sends each record into a [`channel`].
#[derive(Debug)]
pub struct ChannelSink {
    records: mpsc::Sender<Record>,
    dropped: AtomicU64,
}

/// A sink, and the other end, where the records of at most `capacity` requests wait to be taken.
/// What comes while so many wait is dropped and [counted](ChannelSink::dropped): a request never
/// waits for its record to be written.
///
/// # Panics
///
/// If `capacity` is 0.
pub fn channel(capacity: usize) -> (ChannelSink, mpsc::Receiver<Record>) {
    let (records, receiver) = mpsc::channel(capacity);
    (ChannelSink { records, dropped: AtomicU64::new(0) }, receiver)
}

// === impl ChannelSink ===

impl ChannelSink {
    /// How many records were dropped because nobody took those before them.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Sink for ChannelSink {
    fn record(&self, record: &Record) {
        // A place is taken first: a record that is dropped need not be copied.
        match self.records.try_reserve() {
            Ok(place) => place.send(record.clone()),
            Err(_) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
