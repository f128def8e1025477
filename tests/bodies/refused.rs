//! What is refused is refused before an engine hears of it.

use plimsoll_sim::replay::Reply;
use serde_json::json;

use super::pair;
use crate::support::{Answer, Page, Pair, Plimsoll, bounded, chat, posts, replay};

const CHAT: &str = "/v1/chat/completions";

/// Fields that tell an engine which peer, rank or transfer to use.
const STEERING: [&str; 8] = [
    "bootstrap_host",
    "bootstrap_port",
    "bootstrap_room",
    "bootstrap_pair_key",
    "routed_dp_rank",
    "disagg_prefill_dp_rank",
    "data_parallel_rank",
    "kv_transfer_params",
];

const HEADERS: [&str; 4] = [
    "x-override-bootstrap-host",
    "X-Override-Bootstrap-Port",
    "x-override-bootstrap-room",
    "X-Data-Parallel-Rank",
];

/// The name with its last letter as an escape.
fn escaped(name: &str) -> String {
    let (last, start) = name.as_bytes().split_last().expect("a name");
    format!("{}\\u{last:04x}", String::from_utf8_lossy(start))
}

/// Nothing but probes has reached the engines, and all was the clients' fault.
#[track_caller]
fn assert_nothing_sent(pair: &Pair, page: &Page, code: &str) {
    assert_eq!((posts(&pair.prefill).len(), posts(&pair.decode).len()), (0, 0));
    let all = page.count("plimsoll_requests_total", &[]);
    let labels = [("outcome", "client_error"), ("code", code)];
    assert_eq!(page.count("plimsoll_requests_total", &labels), all);
    assert_eq!(page.count("plimsoll_usage_total", &[("completeness", "absent")]), all);
    assert_eq!(page.count("plimsoll_prompt_tokens_total", &[]), 0);
}

#[track_caller]
fn assert_refused(answer: &Answer, param: &str) {
    assert_eq!(answer.status, 400, "{param}");
    assert!(answer.error().contains(param) || param == "n", "{}", answer.text());
    assert_eq!(answer.json()["error"]["param"], param);
    assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
}

#[tokio::test]
async fn a_body_beyond_the_limit() {
    bounded(async {
        let pair = pair("--max-payload-size 1000").await;
        let body = chat(&format!(",\"pad\":\"{}\"", "x".repeat(1000)));
        let stated = pair.router.post(CHAT, body.clone()).send().await;
        let unstated = pair.router.post(CHAT, "").chunked(&body).send().await;
        // As long as a length may be, so that nothing can be added to it.
        let endless = pair.router.post(CHAT, "").withheld(u64::MAX - 2).send().await;
        let other = pair.router.post("/generate", "").withheld(u64::MAX - 2).send().await;
        for answer in [stated, unstated, endless, other] {
            assert_eq!(answer.status, 413);
            assert!(answer.error().contains("1000 bytes"), "{}", answer.text());
        }
        assert_nothing_sent(&pair, &pair.router.settled(4).await, "413");
        let fits = format!("{{\"pad\":\"{}\"}}", "x".repeat(990));
        assert_eq!(fits.len(), 1000);
        assert_eq!(pair.router.post(CHAT, fits).send().await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn what_is_no_json_object() {
    bounded(async {
        let pair = pair("").await;
        let bodies = [
            "",
            "{",
            "{\"model\": \"x\", \"messages\": [ ",
            "[]",
            "7",
            "{} x",
            "{\"a\":NaN}",
            "\u{feff}{}",
        ];
        for body in bodies {
            let answer = pair.router.post(CHAT, body).send().await;
            assert_eq!(answer.status, 400, "{body}");
            assert!(answer.error().contains("JSON"), "{}", answer.text());
        }
        assert_nothing_sent(&pair, &pair.router.settled(bodies.len() as u64).await, "400");
    })
    .await;
}

#[tokio::test]
async fn fields_that_steer_a_pair() {
    bounded(async {
        let pair = pair("").await;
        let mut asked = 0;
        for field in STEERING {
            for written in [field.to_owned(), escaped(field)] {
                for (path, stream) in
                    [(CHAT, true), ("/v1/completions", false), ("/generate", false)]
                {
                    let body =
                        format!("{{\"a\":[{{\"b\":1}}],\"{written}\": null,\"stream\":{stream}}}");
                    assert_refused(&pair.router.post(path, body).send().await, field);
                    asked += 1;
                }
            }
        }
        assert_nothing_sent(&pair, &pair.router.settled(asked).await, "400");
        // Only a member of the request itself steers.
        let deeper = r#"{"metadata":{"bootstrap_room":1},"prompt":"bootstrap_room"}"#;
        assert_eq!(pair.router.post("/v1/completions", deeper).send().await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn headers_that_steer_a_pair() {
    bounded(async {
        let pair = pair("").await;
        for header in HEADERS {
            let call = pair.router.post(CHAT, chat("")).header(header, "1");
            assert_refused(&call.send().await, &header.to_ascii_lowercase());
        }
        assert_nothing_sent(&pair, &pair.router.settled(4).await, "400");
    })
    .await;
}

#[tokio::test]
async fn steering_is_refused_for_plain_workers_too() {
    bounded(async {
        let engine = replay(|_| Reply::json(200, "{}")).await;
        let line = format!("--worker-urls {}", engine.url());
        let router = Plimsoll::start(&line).await;
        for field in STEERING {
            let body = chat(&format!(",\"{field}\":1"));
            assert_refused(&router.post(CHAT, body).send().await, field);
        }
        let call = router.post(CHAT, chat("")).header("x-data-parallel-rank", "0");
        assert_refused(&call.send().await, "x-data-parallel-rank");
        let call = router.post(CHAT, chat("")).header("x-data-parallel-rank", "0");
        let hidden = call.header("connection", "close, x-data-parallel-rank");
        assert_refused(&hidden.send().await, "x-data-parallel-rank");
        assert_eq!(posts(&engine).len(), 0);

        let router = Plimsoll::start(&format!("{line} --allow-client-routing")).await;
        let body = chat(",\"data_parallel_rank\":1,\"bootstrap_room\":7");
        let call = router.post(CHAT, body.clone()).header("x-data-parallel-rank", "0");
        assert_eq!(call.send().await.status, 200);
        let seen = &posts(&engine)[0];
        assert_eq!(seen.body, body);
        assert_eq!(seen.header("x-data-parallel-rank"), Some("0"));
    })
    .await;
}

#[tokio::test]
async fn allowed_steering_reaches_a_pair() {
    bounded(async {
        let pair = pair("--allow-client-routing").await;
        let body = chat(",\"routed_dp_rank\":1");
        let call = pair.router.post(CHAT, body.clone()).header("x-override-bootstrap-room", "9");
        assert_eq!(call.send().await.status, 200);
        let legs = pair.legs(1).await;
        assert!(legs[0].body.ends_with(&body.as_bytes()[1..]));
        assert_eq!(legs[0].header("x-override-bootstrap-room"), Some("9"));
    })
    .await;
}

/// More than one answer a prompt would kill a real prefill server.
#[tokio::test]
async fn more_than_one_choice() {
    bounded(async {
        let pair = pair("").await;
        let more = [
            ",\"n\":2",
            ",\"n\":\"2\"",
            ",\"n\" : 2.0",
            ",\"n\":\"\\u0032\"",
            ",\"\\u006e\":3",
            ",\"best_of\":2",
            ",\"n\":1,\"best_of\":\"4\"",
            ",\"sampling_params\":{\"n\":2}",
            ",\"sampling_params\":[{\"n\":1},{\"\\u006e\":2}]",
            ",\"stream\":true,\"n\":1,\"n\":2",
        ];
        for more in more {
            for path in [CHAT, "/v1/completions", "/generate"] {
                let answer = pair.router.post(path, chat(more)).send().await;
                assert_refused(&answer, "n");
            }
        }
        let page = pair.router.settled(3 * more.len() as u64).await;
        assert_nothing_sent(&pair, &page, "400");
        let one = chat(",\"n\":1,\"best_of\":1,\"sampling_params\":{\"n\":1}");
        let answer = pair.router.post(CHAT, one).send().await;
        assert_eq!(answer.json()["usage"], json!({"prompt_tokens":3,"completion_tokens":2}));
    })
    .await;
}
