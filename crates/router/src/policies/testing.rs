//! What the policies' tests share.

use std::sync::Arc;

use super::Candidate;

/// URLs of so many workers.
pub(super) fn urls(count: usize) -> Vec<Arc<str>> {
    (0..count).map(|index| format!("http://10.0.0.{index}:30000").into()).collect()
}

/// Workers with so many in flight, and no load known.
pub(super) fn candidates<'a>(urls: &'a [Arc<str>], in_flight: &[usize]) -> Vec<Candidate<'a>> {
    let pairs = urls.iter().zip(in_flight);
    pairs
        .map(|(url, &in_flight)| Candidate { url, in_flight, load: None, pending_tokens: 0 })
        .collect()
}
