//! Running a few futures side by side in one task.
//!
//! Not `futures_util`'s: that polls only those whose waker was woken, and what an answer is written to
//! (`Outlet`) is polled by hyper, and keeps no waker.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

/// Runs all futures to their end, each polled in turn; results in the order given.
pub(crate) async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    let mut results: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, result) in running.iter_mut().zip(&mut results) {
            if result.is_none() {
                if let Poll::Ready(output) = future.as_mut().poll(context) {
                    *result = Some(output);
                }
            }
        }
        if results.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn results_keep_their_order() {
        let (first, wait_first) = oneshot::channel();
        let (second, wait_second) = oneshot::channel();
        let release = async {
            assert!(second.send(2).is_ok());
            assert!(first.send(1).is_ok());
        };
        let (results, ()) = tokio::join!(join_all([wait_first, wait_second]), release);
        assert_eq!(results, [Ok(1), Ok(2)]);
    }
}
