//! What clients sent.

use std::{collections::VecDeque, sync::Mutex};

use bytes::Bytes;
use tokio::{sync::watch, time::Instant};

use crate::sync::lock;

/// A request as it came over the wire.
#[derive(Debug, Clone)]
pub struct SeenRequest {
    /// Method, upper case.
    pub method: String,
    /// Path with the query, if any.
    pub path: String,
    /// Header names and values in the order received. Names of requests to a
    /// [`SimEngine`](crate::SimEngine) are lower case, those to a
    /// [`ReplayServer`](crate::replay::ReplayServer) as sent.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Bytes,
    /// When it was complete.
    pub at: Instant,
}

// === impl SeenRequest ===

impl SeenRequest {
    /// The first header of a name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn new(parts: &http::request::Parts, body: Bytes) -> Self {
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into();
        Self {
            method: parts.method.to_string(),
            path: parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            headers: parts.headers.iter().map(|(k, v)| (k.to_string(), text(v))).collect(),
            body,
            at: Instant::now(),
        }
    }
}

/// The last requests seen, and how many there were.
#[derive(Debug)]
pub(crate) struct SeenLog {
    limit: usize,
    kept: Mutex<VecDeque<SeenRequest>>,
    count: watch::Sender<usize>,
}

// === impl SeenLog ===

impl SeenLog {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, kept: Mutex::default(), count: watch::Sender::default() }
    }

    /// Remembers a request and gives its index, counted from 0.
    pub(crate) fn push(&self, request: SeenRequest) -> usize {
        let mut kept = lock(&self.kept);
        kept.push_back(request);
        if kept.len() > self.limit {
            kept.pop_front();
        }
        let index = *self.count.borrow();
        self.count.send_replace(index + 1);
        index
    }

    pub(crate) fn kept(&self) -> Vec<SeenRequest> {
        lock(&self.kept).iter().cloned().collect()
    }

    /// Waits until `count` requests have come in all.
    pub(crate) async fn wait(&self, count: usize) {
        // The sender lives in `self`, so the wait cannot fail.
        let _ = self.count.subscribe().wait_for(|&seen| seen >= count).await;
    }
}
