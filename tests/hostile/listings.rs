//! What engines say of themselves, and too much of it.

use bytes::Bytes;
use plimsoll_sim::{
    SeenRequest,
    replay::{ReplayServer, Reply},
};

use super::{CHAT, assert_well, good};
use crate::support::{Plimsoll, bounded, chat, eventually};

/// An engine that answers a GET of this path so, and is good otherwise.
async fn engine(path: &'static str, reply: Reply) -> ReplayServer {
    let answer = move |request: &SeenRequest| {
        let is_post = request.method == "POST";
        is_post.then(good).or_else(|| (request.path == path).then(|| reply.clone()))
    };
    ReplayServer::start(answer).await.expect("a free loopback port")
}

fn listing(ids: impl Iterator<Item = String>) -> Reply {
    let data: Vec<_> = ids.map(|id| format!("{{\"id\":\"{id}\"}}")).collect();
    Reply::json(200, &format!("{{\"data\":[{}]}}", data.join(",")))
}

/// A flood of models is believed in part, a name as long as a book not at all.
#[tokio::test]
async fn models_are_few_and_their_names_short() {
    bounded(async {
        let floods = (0..2).map(|side| {
            let ids = (0..100_000).map(move |number| format!("{side}-{number}"));
            listing(ids.chain(["x".repeat(1 << 20)]))
        });
        let [one, other] = [0, 1].map(|side| floods.clone().nth(side).expect("one"));
        let (one, other) = (engine("/v1/models", one).await, engine("/v1/models", other).await);
        let line = format!("--worker-urls {} {} --policy round_robin", one.url(), other.url());
        let router = Plimsoll::start(&line).await;
        let before = router.resident();
        let models = eventually(async || {
            let models = router.get("/v1/models").send().await;
            let count = models.json()["data"].as_array().map_or(0, Vec::len);
            if count == 2048 { Ok(models.text()) } else { Err(count.to_string()) }
        })
        .await;
        assert!(models.len() < 1 << 20, "{}", models.len());
        let answer = router.post(CHAT, "{\"model\":\"1-5\"}").send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(router.get("/readiness").send().await.status, 200);
        assert_well(&router, before, 64 << 20).await;
    })
    .await;
}

/// A probe is answered in few bytes, and at the place that was asked.
#[tokio::test]
async fn a_probe_wants_a_plain_answer() {
    bounded(async {
        let other = ReplayServer::start(|_| None).await.expect("a free loopback port");
        let to = format!("location: {}/health\r\n", other.url());
        let redirect = format!("HTTP/1.1 302 Found\r\n{to}content-length: 0\r\n\r\n");
        let piece = Bytes::from("x".repeat(1 << 20));
        let endless = (0..64).fold(
            Reply::new().write("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"),
            |reply, _| reply.write(piece.clone()),
        );
        for (reply, wanted) in [
            (Reply::new().write(redirect), "it answered 302"),
            (endless, "its answer cannot be read"),
            (Reply::new().write("HTTP/1.1 200\r\nbad\r\n\r\n"), "what is no HTTP/1.1"),
        ] {
            let engine = engine("/health", reply).await;
            let router = Plimsoll::launch(&format!("--worker-urls {}", engine.url())).await;
            let before = router.resident();
            router.logged(wanted).await;
            assert_eq!(router.post(CHAT, chat("")).send().await.status, 503);
            let workers = router.get("/workers").send().await.text();
            assert!(workers.contains(wanted), "{workers}");
            assert_well(&router, before, 32 << 20).await;
        }
        assert_eq!(other.requests().len(), 0);
    })
    .await;
}
