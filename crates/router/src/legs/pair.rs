//! Two legs, one answer.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

use http::Response;

use super::{
    Head,
    prefill::{Prefill, PrefillFailure, Tail},
};
use crate::{
    RouteError, RouterBody,
    body::{PairBody, RelayBody},
};

/// Drives both legs until it is known whose answer the client gets.
///
/// That is decode's, once it has begun and prefill has taken the request, so that a refusal by
/// prefill is still answered with its own status. Both say so early in a stream. Otherwise the first
/// byte of decode's answer proves it, too: decode writes none before the KV cache was handed over.
/// (Its head alone proves nothing.)
///
/// # Errors
///
/// The first failure of a leg's transport. The other leg is cancelled.
pub(crate) async fn answer(
    prefill: Prefill,
    mut decode: Head,
) -> Result<Response<RouterBody>, RouteError> {
    let mut prefill = Tail::new(prefill);
    let answer = poll_fn(|cx| match prefill.poll_failure(cx) {
        Poll::Ready(failure) => Poll::Ready(Err(failure)),
        Poll::Pending => Pin::new(&mut decode).poll(cx).map(Ok),
    });
    let response = match answer.await {
        Err(failure) => return refusal(failure),
        Ok(response) => response?,
    };
    if !response.status().is_success() {
        return Ok(RelayBody::answer(response));
    }
    let (parts, body) = response.into_parts();
    let mut body = RelayBody::new(&parts, body);
    let taken = poll_fn(|cx| match prefill.poll_failure(cx) {
        Poll::Ready(failure) => Poll::Ready(Err(failure)),
        Poll::Pending if prefill.has_head() => Poll::Ready(Ok(())),
        Poll::Pending => body.poll_first(cx).map(Ok),
    });
    match taken.await {
        Err(failure) => refusal(failure),
        Ok(()) => Ok(Response::from_parts(parts, PairBody::new(body, prefill).into())),
    }
}

fn refusal(failure: PrefillFailure) -> Result<Response<RouterBody>, RouteError> {
    match failure {
        PrefillFailure::Error(error) => Err(error),
        PrefillFailure::Answer(response) => Ok(RelayBody::answer(response)),
    }
}
