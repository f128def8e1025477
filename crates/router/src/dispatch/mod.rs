//! The way of one inference request: let in, sent to workers, tried again where that helps.
//!
//! An attempt has workers of its own. One that fails before any byte of an answer was sent may be
//! followed by another, without the worker that failed: if there is no other of its role, what
//! failed would fail again, and nobody is asked to read the prompt once more for it.

mod attempted;
mod pair;
mod retry;

use http::{HeaderValue, Response, Version, request};
use plimsoll_wire::{Endpoint, PeekSlot, Splice, Upstream};
use tokio::time::sleep;

pub(crate) use self::attempted::Attempted;
use self::{attempted::Failure, retry::Tries};
use crate::{
    Cluster, RetryReason, RouteError, Router, RouterBody, answer,
    client::Reuse,
    cluster::{Team, Wanted},
    headers,
    legs::{lone, nixl::HandOver},
    request::Inference,
    workers::Place,
};

/// One request on its way.
struct Dispatch {
    router: Router,
    endpoint: Endpoint,
    /// What the client's session goes by.
    session: Option<HeaderValue>,
    /// Its headers are those that workers are to get.
    parts: request::Parts,
    body: Splice,
    slot: PeekSlot,
}

/// What is tried next.
enum Step {
    /// All of it.
    Whole(Team),
    /// Decode alone: prefill has done its part.
    Decode { decode: Place, handed_over: HandOver },
}

/// Sends a request to workers and gives the answer.
pub(crate) async fn infer(router: Router, inference: Inference) -> Response<RouterBody> {
    let Inference { endpoint, mut parts, body, slot } = inference;
    let session = headers::session(&parts.headers).cloned();
    headers::for_worker(&mut parts.headers, router.cluster().worker_authorization());
    let dispatch = Dispatch { router, endpoint, session, parts, body, slot };
    let mut way = Upstream::default();
    let mut response = dispatch.run(&mut way).await.unwrap_or_else(|error| {
        way.refused = error.is_refusal();
        // A head may be out already, without this.
        dispatch.slot.set_upstream(way.clone());
        answer::error(&error)
    });
    response.extensions_mut().insert(way);
    response
}

// === impl Dispatch ===

impl Dispatch {
    async fn run(&self, way: &mut Upstream) -> Result<Response<RouterBody>, RouteError> {
        let cluster = self.router.cluster();
        let session = self.session.as_ref().map(HeaderValue::as_bytes);
        let wanted = Wanted::new(self.slot.get(), &self.body, session);
        let mut tries = Tries::new(cluster.config().retry);
        let choose = || cluster.choose(&wanted, &[]);
        let (ticket, team) = cluster.gate().enter(cluster.is_mixed(), choose).await?;
        let mut step = Step::Whole(team);
        let response = loop {
            let failure = match self.attempt(step, tries.reuse(), way).await? {
                Attempted::Answered(response) => break response,
                Attempted::Failed(failure) => failure,
            };
            let wait = tries.after(&failure).filter(|_| cluster.has_others(tries.failed()));
            let Some(wait) = wait else { break failure.answer };
            sleep(wait).await;
            way.backoffs.push(wait);
            let Failure { reason, answer, handed_over, .. } = failure;
            let is_stale = reason == RetryReason::StaleConnection;
            let again = is_stale.then(|| cluster.choose_again(&wanted, way)).flatten();
            let next = match again {
                Some(team) => Ok(Step::Whole(team)),
                None => next(cluster, &wanted, &tries, handed_over).await,
            };
            match next {
                Ok(next) => step = next,
                // What failed says more than that there is nobody else.
                Err(_) => break answer,
            }
            cluster.retries().note(reason);
        };
        let is_shared = self.parts.version == Version::HTTP_2;
        let ticket = if is_shared { ticket.waking() } else { ticket };
        Ok(response.map(|body| body.holding(ticket)))
    }

    async fn attempt(
        &self,
        step: Step,
        reuse: Reuse,
        way: &mut Upstream,
    ) -> Result<Attempted, RouteError> {
        match step {
            Step::Whole(Team::Plain(place)) => {
                way.decode = Some(place.worker().url().clone());
                self.set_out(way);
                let body = self.body.clone();
                Ok(lone::answer(self.router.head(place, None, &self.parts, body, reuse)).await)
            }
            Step::Whole(Team::Pair { prefill, decode }) => {
                self.pair(prefill, decode, reuse, way).await
            }
            Step::Decode { decode, handed_over } => {
                way.decode = Some(decode.worker().url().clone());
                self.set_out(way);
                Ok(self.decode(decode, handed_over, reuse).await)
            }
        }
    }

    /// Legs are about to be sent: whoever accounts for the request can know from here on.
    fn set_out(&self, way: &mut Upstream) {
        way.attempts += 1;
        self.slot.set_upstream(way.clone());
    }
}

/// The next attempt, once workers have room for it.
async fn next(
    cluster: &Cluster,
    wanted: &Wanted<'_>,
    tries: &Tries,
    handed_over: Option<HandOver>,
) -> Result<Step, RouteError> {
    let gate = cluster.gate();
    let Some(handed_over) = handed_over else {
        let team = gate.wait_for(|| cluster.choose(wanted, tries.failed())).await?;
        return Ok(Step::Whole(team));
    };
    let prefill = &handed_over.prefill;
    let decode = gate.wait_for(|| cluster.choose_decode(wanted, tries.failed(), prefill)).await?;
    Ok(Step::Decode { decode, handed_over })
}
