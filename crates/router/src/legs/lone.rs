//! One leg, its answer.

use std::future::poll_fn;

use http::Response;

use super::Head;
use crate::{body::RelayBody, dispatch::Attempted};

/// Waits for the first byte of a worker's answer, before which another may be asked instead.
pub(crate) async fn answer(head: Head) -> Attempted {
    let response = match head.await {
        Err(error) => return Attempted::error(error),
        Ok(response) if !response.status().is_success() => return Attempted::head(response),
        Ok(response) => response,
    };
    let (parts, body) = response.into_parts();
    let mut body = RelayBody::new(&parts, body);
    match poll_fn(|cx| body.poll_first(cx)).await {
        Err(error) => Attempted::error(error),
        Ok(()) => Attempted::Answered(Response::from_parts(parts, body.into())),
    }
}
