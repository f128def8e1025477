//! vLLM pairs: what each leg is asked, and that nothing is left behind when one fails.

use plimsoll_sim::{Engine, Fault, FaultAction, Role, SimConfig, replay::Reply};
use serde_json::{Value, json};

use super::{CHAT, COMPLETIONS, IN_TURN, QUICK, all_up, attempts, busy, good, json, retries};
use crate::support::{Pair, Plimsoll, bounded, chat, posts, replay, sim, sim_pair};

/// Parameters in a spelling of their own.
const PARAMS: &str = r#"{ "do_remote_prefill":true,"remote_block_ids":[[1, 2,30]],"x":0.70,"remote_host":"\u0061" }"#;

/// A prefill's answer with parameters.
fn kept() -> Reply {
    Reply::json(
        200,
        &format!(
            "{{\"id\":\"a\",\"choices\":[{{\"text\":\" x\"}}],\"usage\":{{\"prompt_tokens\":3,\
             \"completion_tokens\":1}}, \"kv_transfer_params\" : {PARAMS}}}"
        ),
    )
}

fn vllm() -> SimConfig {
    SimConfig::default().engine(Engine::Vllm).model("tiny-llama".to_owned())
}

#[tokio::test]
async fn what_each_leg_is_asked() {
    bounded(async {
        let (router, prefill, decode) = sim_pair(vllm(), "").await;
        let cases = [
            ("", 64),
            (",\"max_tokens\":5", 5),
            (",\"max_completion_tokens\":5", 5),
            (",\"max_completion_tokens\":5,\"max_tokens\":9", 5),
            (",\"max_tokens\":5,\"min_tokens\":5", 5),
            (",\"stream\":true,\"max_tokens\":5", 5),
            (",\"stream\":true,\"max_tokens\":5,\"stream_options\":{\"include_usage\":true}", 5),
            (",\"stream\":true,\"stream_options\":{\"continuous_usage_stats\":true}", 64),
            (",\"stream\":false,\"temperature\":0.70,\"min_tokens\":2,\"ignore_eos\":true", 64),
        ];
        for (more, _) in cases {
            let body = chat(more);
            let answer = router.post(CHAT, body.clone()).send().await;
            assert_eq!(answer.status, 200, "{more}: {}", answer.text());
            let asked: Value = serde_json::from_str(&body).expect("JSON");

            let mut first = json(prefill.requests().last().expect("a request"));
            let params = first["kv_transfer_params"].take();
            assert_eq!(
                (&params["do_remote_decode"], &params["do_remote_prefill"]),
                (&true.into(), &false.into())
            );
            let mut want = asked.clone();
            let members = want.as_object_mut().expect("an object");
            members.retain(|name, _| name != "stream_options" && name != "min_tokens");
            for (name, value) in [
                ("stream", json!(false)),
                ("max_tokens", json!(1)),
                ("max_completion_tokens", json!(1)),
                ("kv_transfer_params", Value::Null),
            ] {
                members.insert(name.to_owned(), value);
            }
            assert_eq!(first, want, "{more}");

            let mut second = json(decode.requests().last().expect("a request"));
            let params = second.as_object_mut().expect("an object").remove("kv_transfer_params");
            assert_eq!(params.expect("parameters")["do_remote_prefill"], true);
            let mut want = asked.clone();
            if asked["stream"] == true {
                want["stream_options"]["include_usage"] = true.into();
            }
            assert_eq!(second, want, "{more}");
        }
        let page = router.settled(cases.len() as u64).await;
        assert_eq!(page.outcomes("complete"), cases.len() as u64);
        let tokens: u64 = cases.iter().map(|(_, tokens)| tokens).sum();
        assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), tokens);
        let totals = prefill.wait_for(|totals| totals.kept == 0).await;
        assert_eq!((totals.fetched, totals.expired), (cases.len() as u64, 0));
        assert_eq!((prefill.used_tokens(), decode.used_tokens()), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn parameters_are_handed_over_verbatim() {
    bounded(async {
        let pair = Pair::start("--engine vllm", |_| kept(), |_| good()).await;
        for more in
            [",\"top_p\":0.70", ",\"stream\":true,\"stream_options\":{\"include_usage\":true}"]
        {
            let body = chat(more);
            assert_eq!(pair.router.post(CHAT, body.clone()).send().await.status, 200);
            let seen = posts(&pair.decode).pop().expect("a request").body;
            assert_eq!(seen, format!("{{\"kv_transfer_params\":{PARAMS},{}", &body[1..]));
        }
        let seen = posts(&pair.prefill).swap_remove(0).body;
        assert!(String::from_utf8_lossy(&seen).contains("\"top_p\":0.70"), "{seen:?}");
    })
    .await;
}

/// A router before one prefill engine and two for decode.
async fn with_two(prefill: String, decode: [String; 2]) -> Plimsoll {
    let [first, second] = decode;
    let line =
        format!("--pd-disaggregation --prefill {prefill} --decode {first} --decode {second}");
    let router = Plimsoll::start(&format!("{line} --engine vllm {IN_TURN} {QUICK}")).await;
    all_up(&router, 3).await;
    router
}

#[tokio::test]
async fn another_decode_gets_the_same_parameters() {
    bounded(async {
        let (prefill, gone, decode) =
            (replay(|_| kept()).await, replay(|_| good()).await, replay(|_| good()).await);
        let router = with_two(prefill.url(), [gone.url(), decode.url()]).await;
        let url = gone.url();
        gone.shutdown().await;
        for _ in 0..2 {
            assert_eq!(router.post(CHAT, chat("")).send().await.status, 200);
        }
        let page = router.settled(2).await;
        let refused = attempts(&page, &url, "connect_error");
        assert!(refused >= 1 && retries(&page, "connect_error") == refused, "{page}");
        assert_eq!((posts(&prefill).len(), posts(&decode).len()), (2, 2));
        for request in posts(&decode) {
            assert!(String::from_utf8_lossy(&request.body).contains(PARAMS));
        }
        let read = [("role", "prefill"), ("result", "ok")];
        assert_eq!(page.count("plimsoll_attempts_total", &read), 2);
        assert_eq!(page.count("plimsoll_prefill_duration_seconds_count", &[]), 2);
    })
    .await;
}

/// With simulated engines: what was kept is fetched, and nothing of it stays.
#[tokio::test]
async fn nothing_stays_with_prefill() {
    bounded(async {
        let prefill = sim(vllm().role(Role::Prefill)).await;
        let gone = sim(vllm().role(Role::Decode)).await;
        let decode = sim(vllm().role(Role::Decode)).await;
        let router = with_two(prefill.url(), [gone.url(), decode.url()]).await;
        gone.shutdown().await;
        for more in ["", ",\"stream\":true", "", ",\"stream\":true"] {
            let answer = router.post(CHAT, chat(more)).send().await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        let totals = prefill.wait_for(|totals| totals.fetched == 4).await;
        assert_eq!((totals.requests, totals.kept, totals.expired), (4, 0, 0));
        assert_eq!((prefill.used_tokens(), decode.used_tokens()), (0, 0));
        assert_eq!(decode.totals().finished, 4);
        assert_eq!(router.settled(4).await.outcomes("complete"), 4);
    })
    .await;
}

/// Decode may have fetched the cache, which goes once: the whole way is gone anew.
#[tokio::test]
async fn a_decode_that_answers_5xx_costs_a_prefill() {
    bounded(async {
        let (prefill, bad, decode) =
            (replay(|_| kept()).await, replay(|_| busy()).await, replay(|_| good()).await);
        let router = with_two(prefill.url(), [bad.url(), decode.url()]).await;
        for _ in 0..2 {
            assert_eq!(router.post(CHAT, chat("")).send().await.status, 200);
        }
        assert!(!posts(&bad).is_empty());
        assert_eq!(posts(&prefill).len(), posts(&bad).len() + posts(&decode).len());
        let page = router.settled(2).await;
        assert_eq!(retries(&page, "status_5xx"), posts(&bad).len() as u64);
    })
    .await;
}

#[tokio::test]
async fn prefills_refusal_is_the_answer_and_decode_hears_nothing() {
    bounded(async {
        let (router, prefill, decode) = sim_pair(vllm(), "").await;
        let refused = router.post(CHAT, chat(",\"temperature\":-1")).send().await;
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains("temperature"), "{}", refused.text());
        let body = bytes::Bytes::from_static(b"{\"error\":{\"message\":\"mine\"}}");
        let fault = FaultAction::Status { code: 503, headers: vec![], body: body.clone() };
        prefill.faults().push(Fault::once(fault));
        let failed = router.post(CHAT, chat("")).send().await;
        assert_eq!((failed.status, failed.body()), (503, body));
        prefill.faults().push(Fault::once(FaultAction::GarbageBody));
        let garbage = router.post(CHAT, chat("")).send().await;
        assert_eq!(garbage.status, 502);
        assert!(garbage.error().contains(&prefill.url()), "{}", garbage.text());
        assert_eq!(decode.totals().requests, 0);
        let page = router.settled(3).await;
        assert_eq!((page.outcomes("client_error"), page.outcomes("upstream_error")), (1, 2));
        assert_eq!(prefill.used_tokens(), 0);
    })
    .await;
}

#[tokio::test]
async fn what_one_hand_over_cannot_carry() {
    bounded(async {
        let (router, prefill, decode) = sim_pair(vllm(), "").await;
        let cases = [
            (COMPLETIONS, r#"{"prompt":["a","b"]}"#, "prompt"),
            (COMPLETIONS, r#"{"prompt":[[1,2],[3]],"stream":true}"#, "prompt"),
            (COMPLETIONS, r#"{"prompt":"a","n":2}"#, "n"),
            (COMPLETIONS, r#"{"prompt":"a","best_of":2}"#, "n"),
            (CHAT, r#"{"messages":[{"role":"user","content":"a"}],"n":2}"#, "n"),
        ];
        for (path, body, param) in cases {
            let answer = router.post(path, body).send().await;
            assert_eq!(answer.status, 400, "{body}");
            assert!(answer.error().contains("vllm"), "{}", answer.text());
            assert_eq!(answer.json()["error"]["param"], param);
        }
        let native = router.post("/generate", r#"{"text":"a"}"#).send().await;
        assert_eq!(native.status, 501, "{}", native.text());
        assert_eq!((prefill.totals().requests, decode.totals().requests), (0, 0));
        let page = router.settled(6).await;
        assert_eq!((page.outcomes("client_error"), page.outcomes("rejected")), (5, 1));
        // One prompt in a list is one prompt.
        for body in
            [r#"{"prompt":["a b c"],"max_tokens":2}"#, r#"{"prompt":[1,2,3],"max_tokens":2}"#]
        {
            assert_eq!(router.post(COMPLETIONS, body).send().await.status, 200, "{body}");
        }
        assert_eq!(prefill.wait_for(|totals| totals.fetched == 2).await.kept, 0);
    })
    .await;
}
