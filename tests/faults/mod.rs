//! What goes wrong, and what the client gets all the same: workers that fail, that are silent, that
//! are gone, and that come back.
//!
//! Which tests show that what went wrong in other routers does not here:
//!
//! - one leg fails and the other waits for half an hour: `elsewhere`, `pair::failures`
//! - prefill runs again for each failure of the only decode:
//!   `elsewhere::nobody_reads_the_prompt_again_for_the_only_decode`
//! - a 429 becomes a 500 and is tried five times: `once::a_429_passes_byte_for_byte`
//! - the error body of a failed stream is cut: `words::an_error_is_not_cut`
//! - a half-open breaker never closes, an open one stops one leg only: `breaker`
//! - ready while a role is missing: `breaker::a_leg_opens_its_own_breaker`,
//!   `routes::readiness_names_the_role_and_a_late_worker_joins`
//! - one dead worker stops the start, late and revived ones are never used: `coming`
//! - one dead decode and one full one are a 503 for everybody: `coming::one_is_dead_and_one_is_full`
//! - a limit on the whole cuts long streams: `silence`, `pair::streams::a_slow_stream_is_whole`
//! - vLLM's prefill refuses what is left of the client's body: `hand_over`
//! - lists of prompts crash, several samples hang: `bodies::edits::lists_of_prompts_get_a_room_each`,
//!   `bodies::refused::more_than_one_choice`, `hand_over::what_one_hand_over_cannot_carry`
//! - a batch of texts is a 422: `words::a_batch_of_texts_is_served`
//! - engines work on for clients that have left: `leaving`, `disconnect`
//! - workers that were removed stay: `reload`, `workers`
//! - a small limit of bodies: `bodies::edits::twenty_megabytes_reach_both_legs`,
//!   `bodies::refused::a_body_beyond_the_limit`
//! - a burst fails what only waits at decode: `load::bursts`
//! - `data: [DONE]` in content ends the stream: `pair::streams::a_marker_in_content_is_content`
//! - 0.7 is spelled anew: `bodies::edits::bodies_with_oddities_stay_as_they_are`,
//!   `hand_over::parameters_are_handed_over_verbatim`
//! - `authorization` and `x-request-id` are replaced: `headers`

mod breaker;
mod coming;
mod elsewhere;
mod hand_over;
mod heads;
mod leaving;
mod once;
mod reload;
mod silence;
mod stale;
mod words;

use std::time::Duration;

use plimsoll_sim::{
    SeenRequest,
    replay::{ReplayServer, Reply, Step},
};
use serde_json::Value;

use crate::support::{Page, Plimsoll, posts, replay};

const CHAT: &str = "/v1/chat/completions";

const COMPLETIONS: &str = "/v1/completions";

/// An answer that a client may take for one.
const ANSWER: &str =
    r#"{"model":"replay","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;

/// An error as an engine words it.
const BUSY: &str = r#"{"object":"error","message":"no room, sorry","code":503}"#;

/// One worker after the other, and probes too rare to close a breaker or to take a worker out.
const IN_TURN: &str = "--policy round_robin --health-check-interval-secs 3600";

/// Retries without long waits.
const QUICK: &str = "--retry-initial-backoff-ms 1";

/// Long enough for another leg to be under way.
const SOON: Step = Step::Wait(Duration::from_millis(100));

fn good() -> Reply {
    Reply::json(200, ANSWER)
}

fn busy() -> Reply {
    Reply::new().then(SOON).write(raw(503, BUSY))
}

fn silent() -> Reply {
    Reply::new().then(Step::WaitForClose)
}

fn reset() -> Reply {
    Reply::new().then(SOON).then(Step::Reset)
}

/// An error answer with a header that is not the router's.
fn raw(status: u16, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\nx-engine: mine\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Two prefill and two decode engines behind a router.
struct Pairs {
    router: Plimsoll,
    prefill: [ReplayServer; 2],
    decode: [ReplayServer; 2],
}

// === impl Pairs ===

impl Pairs {
    /// Engines of a role answer by their index.
    async fn start(
        flags: &str,
        prefill: impl Fn(usize, &SeenRequest) -> Reply + Copy + Send + Sync + 'static,
        decode: impl Fn(usize, &SeenRequest) -> Reply + Copy + Send + Sync + 'static,
    ) -> Self {
        let prefill = [0, 1].map(|index| replay(move |request| prefill(index, request)));
        let decode = [0, 1].map(|index| replay(move |request| decode(index, request)));
        let ([p0, p1], [d0, d1]) = (prefill, decode);
        let (prefill, decode) = ([p0.await, p1.await], [d0.await, d1.await]);
        let [p0, p1] = prefill.each_ref().map(|engine| format!("--prefill {} 8998", engine.url()));
        let [d0, d1] = decode.each_ref().map(|engine| format!("--decode {}", engine.url()));
        let line = format!("--pd-disaggregation {p0} {p1} {d0} {d1} {IN_TURN} {QUICK} {flags}");
        let router = Plimsoll::start(&line).await;
        all_up(&router, 4).await;
        Self { router, prefill, decode }
    }

    fn asked(&self) -> ([usize; 2], [usize; 2]) {
        let count = |engines: &[ReplayServer; 2]| engines.each_ref().map(|e| posts(e).len());
        (count(&self.prefill), count(&self.decode))
    }
}

/// Waits until so many workers may get requests.
async fn all_up(router: &Plimsoll, count: u64) {
    router.page_when(|page| page.count("plimsoll_worker_eligible", &[]) == count).await;
}

fn attempts(page: &Page, url: &str, result: &str) -> u64 {
    page.count("plimsoll_attempts_total", &[("worker", url), ("result", result)])
}

fn retries(page: &Page, reason: &str) -> u64 {
    page.count("plimsoll_retries_total", &[("reason", reason)])
}

fn breaker(page: &Page, url: &str) -> u64 {
    page.count("plimsoll_worker_breaker_state", &[("worker", url)])
}

#[track_caller]
fn json(request: &SeenRequest) -> Value {
    serde_json::from_slice(&request.body).expect("JSON")
}
