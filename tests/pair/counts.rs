//! What the replies say, what the page says and what the engines say is the same.

use plimsoll_sim::SimConfig;
use serde_json::Value;

use super::{CHAT, events};
use crate::support::{Answer, bounded, chat, sim_pair};

/// Prompt, completion and cached tokens of a reply.
#[track_caller]
fn counts(answer: &Answer) -> [u64; 3] {
    let events = events(answer);
    let usage = events.iter().rev().find_map(|event| {
        [&event["usage"], &event["meta_info"]].into_iter().find(|usage| usage.is_object())
    });
    let usage = usage.unwrap_or_else(|| panic!("no counts: {}", answer.text()));
    let count = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no count: {usage}"));
    let cached = match &usage["prompt_tokens_details"] {
        Value::Null => &usage["cached_tokens"],
        details => &details["cached_tokens"],
    };
    [&usage["prompt_tokens"], &usage["completion_tokens"], cached].map(count)
}

/// Requests to every route, stream and not, with prompts that share a beginning.
fn requests() -> Vec<(&'static str, String)> {
    let stream = ",\"stream\":true,\"stream_options\":{\"include_usage\":true}";
    let prompt = "one two three four five six seven eight nine ten eleven twelve";
    let mut requests = Vec::new();
    for (tokens, stream) in [(1, ""), (5, stream), (9, ""), (17, stream)] {
        requests.push((CHAT, chat(&format!(",\"max_tokens\":{tokens}{stream}"))));
        let rest = format!("\"prompt\":\"{prompt} {tokens}\",\"max_tokens\":{tokens}{stream}");
        requests.push(("/v1/completions", format!("{{{rest}}}")));
        let params = format!("\"sampling_params\":{{\"max_new_tokens\":{tokens}}}");
        let stream = if stream.is_empty() { "" } else { ",\"stream\":true" };
        requests.push(("/generate", format!("{{\"text\":\"{prompt}\",{params}{stream}}}")));
    }
    requests
}

#[tokio::test]
async fn replies_page_and_engines_agree() {
    bounded(async {
        let config = SimConfig::default().cache_report(true);
        let (router, prefill, decode) = sim_pair(config, "").await;
        let (mut sums, requests) = ([0; 3], requests());
        for (path, body) in &requests {
            let answer = router.post(path, body.clone()).send().await;
            assert_eq!((answer.status, answer.complete), (200, true), "{body}");
            for (sum, count) in sums.iter_mut().zip(counts(&answer)) {
                *sum += count;
            }
        }
        let page = router.settled(requests.len() as u64).await;
        assert_eq!(page.outcomes("complete"), requests.len() as u64);
        let counted = ["prompt", "completion", "cached_prompt"]
            .map(|kind| page.count(&format!("plimsoll_{kind}_tokens_total"), &[]));
        assert_eq!(counted, sums);
        assert!(sums[2] > 0, "no prompt was found in the cache");
        assert_eq!(page.count("plimsoll_cache_reported_prompt_tokens_total", &[]), sums[0]);
        let engine = decode.totals();
        assert_eq!([engine.prompt_tokens, engine.generation_tokens], [sums[0], sums[1]]);
        assert_eq!(prefill.totals().generation_tokens, requests.len() as u64);
        for endpoint in ["chat", "completions", "generate"] {
            for stream in ["true", "false"] {
                let labels = [("endpoint", endpoint), ("stream", stream), ("model", "sim-llama")];
                let named = page.count("plimsoll_requests_total", &labels[..2]);
                assert_eq!(named, 2, "{page}");
            }
        }
    })
    .await;
}

/// A client that did not ask for usage gets none, and its tokens are counted all the same.
#[tokio::test]
async fn streams_are_counted_unasked() {
    bounded(async {
        let (router, _prefill, decode) = sim_pair(SimConfig::default(), "").await;
        let completions = "{\"prompt\":\"a b c\",\"max_tokens\":6,\"stream\":true}".to_owned();
        let bodies =
            [(CHAT, chat(",\"max_tokens\":6,\"stream\":true")), ("/v1/completions", completions)];
        for (path, body) in bodies {
            let answer = router.post(path, body).send().await;
            let text = answer.text();
            assert!(
                text.ends_with("data: [DONE]\n\n") && !text.contains("\"choices\":[]"),
                "{text}"
            );
            let texts = events(&answer).into_iter().filter(|event| {
                let choice = &event["choices"][0];
                let text = choice["text"].as_str().or(choice["delta"]["content"].as_str());
                text.is_some_and(|text| !text.is_empty())
            });
            assert_eq!(texts.count(), 6);
        }
        let page = router.settled(2).await;
        assert_eq!(page.count("plimsoll_completion_tokens_total", &[("stream", "true")]), 12);
        assert_eq!(page.count("plimsoll_prompt_tokens_total", &[]), decode.totals().prompt_tokens);
    })
    .await;
}

/// Many at once: rooms do not meet, and nothing is lost or counted twice.
#[tokio::test]
async fn many_at_once() {
    bounded(async {
        let (router, prefill, decode) = sim_pair(SimConfig::default(), "").await;
        let asked = (0..100_u64).map(|index| {
            let stream = index % 2 == 0;
            let body = chat(&format!(",\"max_tokens\":{},\"stream\":{stream}", 1 + index % 10));
            router.post(CHAT, body).send()
        });
        let answers = futures_util::future::join_all(asked).await;
        assert!(answers.iter().all(|answer| answer.status == 200 && answer.complete));
        let page = router.settled(100).await;
        assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), 550);
        assert_eq!(decode.totals().generation_tokens, 550);
        assert_eq!((prefill.totals().finished, decode.totals().finished), (100, 100));
        let ok = [("result", "ok"), ("role", "prefill")];
        assert_eq!(page.count("plimsoll_attempts_total", &ok), 100);
    })
    .await;
}
