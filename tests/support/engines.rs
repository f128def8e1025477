//! Engines for the router to talk to.

use plimsoll_sim::{
    Role, SeenRequest, SimConfig, SimEngine,
    replay::{ReplayServer, Reply},
};
use serde_json::Value;

use super::{plimsoll::Plimsoll, wait::eventually};

/// Two scripted engines behind a router.
pub(crate) struct Pair {
    pub(crate) router: Plimsoll,
    pub(crate) prefill: ReplayServer,
    pub(crate) decode: ReplayServer,
}

/// A chat request, and more members.
pub(crate) fn chat(more: &str) -> String {
    format!(
        "{{\"model\":\"tiny-llama\",\"messages\":[{{\"role\":\"user\",\"content\":\"Hello world, \
         how are you?\"}}]{more}}}"
    )
}

/// An engine that answers every POST so, and is healthy.
pub(crate) async fn replay(
    answer: impl Fn(&SeenRequest) -> Reply + Send + Sync + 'static,
) -> ReplayServer {
    let server =
        ReplayServer::start(move |request| (request.method == "POST").then(|| answer(request)));
    server.await.expect("a free loopback port")
}

/// The POSTs that an engine has got.
pub(crate) fn posts(server: &ReplayServer) -> Vec<SeenRequest> {
    server.requests().into_iter().filter(|request| request.method == "POST").collect()
}

/// The flags for a pair.
pub(crate) fn pair_line(prefill: &str, port: u16, decode: &str) -> String {
    format!("--pd-disaggregation --prefill {prefill} {port} --decode {decode}")
}

/// A simulated engine.
pub(crate) async fn sim(config: SimConfig) -> SimEngine {
    SimEngine::start(config).await.expect("a free loopback port")
}

/// A simulated pair with a router before it, started with `flags`.
pub(crate) async fn sim_pair(config: SimConfig, flags: &str) -> (Plimsoll, SimEngine, SimEngine) {
    let prefill = sim(config.clone().role(Role::Prefill)).await;
    let decode = sim(config.role(Role::Decode)).await;
    let port = prefill.bootstrap_port().expect("a bootstrap port");
    let line = pair_line(&prefill.url(), port, &decode.url());
    (Plimsoll::start(&format!("{line} {flags}")).await, prefill, decode)
}

/// The room of a leg's request.
#[track_caller]
pub(crate) fn room_of(request: &SeenRequest) -> Value {
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    assert_eq!(body["bootstrap_host"].is_array(), body["bootstrap_room"].is_array(), "{body}");
    body["bootstrap_room"].clone()
}

/// A chat event that says a word.
pub(crate) fn text_event(word: &str) -> String {
    format!(
        "data: {{\"model\":\"replay\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\
         \"{word}\"}},\"finish_reason\":null}}]}}\n\n"
    )
}

/// The beginning of a stream, with these events in one chunk.
pub(crate) fn stream_of(events: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: \
         chunked\r\n\r\n{}",
        chunk(events)
    )
}

/// More of a stream in one chunk; its end, if there is none.
pub(crate) fn chunk(events: &str) -> String {
    format!("{:x}\r\n{events}\r\n", events.len())
}

// === impl Pair ===

impl Pair {
    /// Starts both engines and a router with `flags`.
    pub(crate) async fn start(
        flags: &str,
        prefill: impl Fn(&SeenRequest) -> Reply + Send + Sync + 'static,
        decode: impl Fn(&SeenRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let (prefill, decode) = (replay(prefill).await, replay(decode).await);
        let line = pair_line(&prefill.url(), 8998, &decode.url());
        let router = Plimsoll::start(&format!("{line} {flags}")).await;
        Self { router, prefill, decode }
    }

    /// The requests that both legs got, the same byte for byte, once there are `count`. A scripted
    /// decode does not wait for prefill, so prefill may get its request after the answer.
    pub(crate) async fn legs(&self, count: usize) -> Vec<SeenRequest> {
        let (prefill, decode) = eventually(async || {
            let (prefill, decode) = (posts(&self.prefill), posts(&self.decode));
            let seen = (prefill.len(), decode.len());
            if seen == (count, count) { Ok((prefill, decode)) } else { Err(format!("{seen:?}")) }
        })
        .await;
        for (prefill, decode) in prefill.iter().zip(&decode) {
            assert!(prefill.body == decode.body, "{:?}\n{:?}", prefill.body, decode.body);
        }
        prefill
    }
}
