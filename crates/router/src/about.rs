//! What the router says about itself and its workers.

use std::collections::HashSet;

use http::{Response, StatusCode, request};
use plimsoll_wire::Role;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{Cluster, RouteError, Router, RouterBody, answer, body::RelayBody};

#[derive(Serialize)]
struct Listing<'a> {
    object: &'static str,
    data: Vec<&'a RawValue>,
}

#[derive(Serialize)]
struct Readiness {
    ready: bool,
    /// The role that has no worker.
    missing: Option<&'static str>,
    message: String,
}

/// The models that eligible workers serve, each as the first of them describes it.
pub(crate) fn models(cluster: &Cluster) -> Response<RouterBody> {
    let eligible = cluster.all_eligible();
    let listings: Vec<_> = eligible.iter().map(|worker| worker.models()).collect();
    let mut seen = HashSet::new();
    let models = listings.iter().flat_map(|listing| listing.iter());
    let data = models.filter(|model| seen.insert(&*model.id)).map(|model| &*model.entry).collect();
    answer::json_of(StatusCode::OK, &Listing { object: "list", data })
}

/// Whether each needed role has an eligible worker.
pub(crate) fn readiness(cluster: &Cluster) -> Response<RouterBody> {
    let missing = cluster.missing_role().map(Role::as_str);
    let (status, message) = match missing {
        None => (StatusCode::OK, "every needed role has a worker".to_owned()),
        Some(role) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("no {role} worker is eligible; GET /workers says why"),
        ),
    };
    answer::json_of(status, &Readiness { ready: missing.is_none(), missing, message })
}

/// What one eligible worker answers; the next one is asked where one fails.
pub(crate) async fn relay(
    router: &Router,
    parts: &request::Parts,
) -> Result<Response<RouterBody>, RouteError> {
    let cluster = router.cluster();
    let role = cluster.missing_role().unwrap_or(cluster.needed_roles()[0]);
    let mut last = Err(RouteError::NoWorker(role));
    for worker in cluster.all_eligible() {
        last = router.ask(&worker, parts).await.map(RelayBody::answer);
        if last.as_ref().is_ok_and(|response| !response.status().is_server_error()) {
            break;
        }
    }
    last
}

/// Asks one eligible worker of each needed role to generate; the first that fails is the answer.
pub(crate) async fn generates(
    router: &Router,
    parts: &request::Parts,
) -> Result<Response<RouterBody>, RouteError> {
    let mut answer = answer::empty(StatusCode::OK);
    let cluster = router.cluster();
    for &role in cluster.needed_roles() {
        let mut eligible = cluster.all_eligible();
        eligible.retain(|worker| worker.role() == role);
        let worker = fastrand::choice(eligible).ok_or(RouteError::NoWorker(role))?;
        answer = RelayBody::answer(router.ask(&worker, parts).await?);
        if !answer.status().is_success() {
            break;
        }
    }
    Ok(answer)
}
