//! The routes for workers that come and go (`GET /workers`, `POST /workers`,
//! `DELETE /workers/{url}`), and for what all of them are to do (`POST /flush_cache`).

mod access;
mod entry;
mod error;
mod flush;
mod new_worker;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body::Body;
use serde::Serialize;

pub use self::{access::PeerAddr, error::AdminError};
pub(crate) use self::{
    access::{require_local, require_no_page},
    flush::flush,
};
use self::{entry::Entry, new_worker::NewWorker};
use crate::{
    Cluster, Removal, RouteError, RouterBody, answer,
    request::{BoxError, collect},
    route::Route,
};

/// The largest description of a worker that is read, in bytes.
const MAX_BODY: u64 = 64 << 10;

#[derive(Serialize)]
struct Listing {
    workers: Vec<Entry>,
}

#[derive(Serialize)]
struct Removed<'a> {
    url: &'a str,
    state: &'static str,
}

/// Every worker and what is known of it.
pub(crate) fn list(cluster: &Cluster) -> Response<RouterBody> {
    let workers = cluster.workers().iter().map(|worker| Entry::of(worker)).collect();
    answer::json_of(StatusCode::OK, &Listing { workers })
}

/// Adds the worker that the body describes.
pub(crate) async fn add<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    cluster: &Cluster,
    body: B,
) -> Result<Response<RouterBody>, RouteError> {
    let body = collect(body, MAX_BODY).await.map_err(|error| match error {
        RouteError::TooLarge { limit } => AdminError::TooLarge { limit }.into(),
        other => other,
    })?;
    let worker = cluster.add(NewWorker::read(&body.into_bytes())?)?;
    Ok(answer::json_of(StatusCode::CREATED, &Entry::of(&worker)))
}

/// Lets the worker go that the path names.
pub(crate) fn remove(cluster: &Cluster, path: &str) -> Result<Response<RouterBody>, RouteError> {
    let url = percent_decoded(Route::worker(path).unwrap_or_default());
    let (worker, removal) = cluster.remove(&url)?;
    let (status, state) = match removal {
        Removal::Draining => (StatusCode::ACCEPTED, "draining"),
        Removal::Removed => (StatusCode::OK, "removed"),
    };
    Ok(answer::json_of(status, &Removed { url: worker.url(), state }))
}

/// The text that was percent-encoded; what is no encoding stays as it is.
fn percent_decoded(text: &str) -> String {
    let hex_digit = |digit: &u8| char::from(*digit).to_digit(16);
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = match (first, after) {
            (b'%', [high, low, ..]) => hex_digit(high).zip(hex_digit(low)),
            _ => None,
        };
        match code {
            Some((high, low)) => {
                // Two hex digits are a byte.
                decoded.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            None => {
                decoded.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
