//! Two legs at the same time, one answer.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

use http::Response;
use tokio_util::task::TaskTracker;

use super::{
    Head,
    prefill::{Prefill, PrefillFailure, Tail},
};
use crate::{
    RouteError,
    body::{PairBody, RelayBody},
    dispatch::Attempted,
};

/// Drives both legs until it is known whose answer the client gets: decode's, once its first byte has
/// come. Decode writes none before the KV cache was handed over, so that a refusal by prefill is
/// still answered with its own status, and whatever fails until then can be tried elsewhere.
///
/// The first failure of a leg's transport, or the first error status, ends it; the other leg is
/// cancelled. Prefill's is one of `tails` once the answer is whole.
pub(crate) async fn answer(prefill: Prefill, mut decode: Head, tails: &TaskTracker) -> Attempted {
    let mut prefill = Tail::new(prefill, tails.clone());
    let answer = poll_fn(|cx| match prefill.poll_failure(cx) {
        // What prefill reports may come of decode's death.
        Poll::Ready(failure) if failure.is_reported() => match Pin::new(&mut decode).poll(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Ok(Err(error))),
            _ => Poll::Ready(Err(failure)),
        },
        Poll::Ready(failure) => Poll::Ready(Err(failure)),
        Poll::Pending => Pin::new(&mut decode).poll(cx).map(Ok),
    });
    let response = match answer.await {
        Err(failure) => return by_prefill(failure, |error| decode.blame(error)),
        Ok(Err(error)) => return by_decode(error, &mut prefill),
        Ok(Ok(response)) => response,
    };
    if !response.status().is_success() {
        return Attempted::head(response);
    }
    let (parts, body) = response.into_parts();
    let mut body = RelayBody::new(&parts, body);
    let begun = poll_fn(|cx| match prefill.poll_failure(cx) {
        Poll::Ready(failure) => Poll::Ready(Err(failure)),
        Poll::Pending => body.poll_first(cx).map(Ok),
    });
    match begun.await {
        Err(failure) => by_prefill(failure, |error| body.blame(error)),
        Ok(Err(error)) => by_decode(error, &mut prefill),
        Ok(Ok(())) => {
            let body = PairBody::new(body, prefill);
            Attempted::Answered(Response::from_parts(parts, body.into()))
        }
    }
}

/// Prefill failed so, and decode's leg hears of it.
fn by_prefill(failure: PrefillFailure, blame: impl FnOnce(&RouteError)) -> Attempted {
    if let PrefillFailure::Error(error) = &failure {
        blame(error);
    }
    failure.into_attempted()
}

/// Decode failed so, and prefill's leg hears of it.
fn by_decode(error: RouteError, prefill: &mut Tail) -> Attempted {
    prefill.blame(&error);
    Attempted::error(error)
}
