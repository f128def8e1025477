//! What is put in is put in front; all other bytes stay.

use std::collections::HashSet;

use plimsoll_sim::replay::Reply;
use serde_json::{Value, json};

use super::{ANSWER, pair};
use crate::support::{Plimsoll, bounded, chat, posts, replay, room_of};

const CHAT: &str = "/v1/chat/completions";

/// What a leg's body holds right after the client's `{`, as an object; all else is the client's.
#[track_caller]
fn put_in(client: &str, leg: &[u8]) -> Value {
    let leg = std::str::from_utf8(leg).expect("text");
    let (before, after) = client.split_once('{').expect("an object");
    let rest = leg.strip_prefix(before).and_then(|rest| rest.strip_prefix('{'));
    let put = rest.and_then(|rest| rest.strip_suffix(after));
    let put = put.unwrap_or_else(|| panic!("{client:?} became {leg:?}"));
    let put = format!("{{{}}}", put.strip_suffix(',').unwrap_or(put));
    serde_json::from_str(&put).expect("members")
}

/// Bodies with what a re-serialiser would change.
const ODD: [&str; 8] = [
    r#"{"z":1,"a":{"unknown":[1,2.50,-0.0,1e5,1E-7]},"temperature":0.7,"z2":null}"#,
    r#"{"seed":123456789012345678901234567890,"logit_bias":{"7":-100.000}}"#,
    r#"{"messages":[{"content":"\u00e9 é \ud83d\ude00 😀 \/ \b\f\n\r\t \" \\"}],"model":"a\u002fb"}"#,
    "\n\t {\r\n  \"b\" : 0.70 ,\n\"a\"\t:\t[ ] }\n \t",
    r#"{"m\u006fdel":"x","max_tokens":1e1,"n":1}"#,
    r#"{"a":1,"a":2,"tools":[{"function":{"parameters":{"$ref":"x"}}}]}"#,
    r#"{"content":"data: [DONE]\n\ndata: {}","stream":"no"}"#,
    "{ }",
];

#[tokio::test]
async fn bodies_with_oddities_stay_as_they_are() {
    bounded(async {
        let pair = pair("").await;
        for (index, body) in ODD.into_iter().enumerate() {
            assert_eq!(pair.router.post(CHAT, body).send().await.status, 200, "{body}");
            let legs = pair.legs(index + 1).await;
            let put = put_in(body, &legs[index].body);
            assert_eq!(
                (&put["bootstrap_host"], &put["bootstrap_port"]),
                (&json!("127.0.0.1"), &json!(8998))
            );
            assert!(put["bootstrap_room"].as_u64().is_some_and(|room| room < 1 << 63), "{put}");
            assert_eq!(put.as_object().map(serde_json::Map::len), Some(3), "{put}");
        }
        let rooms: HashSet<_> =
            pair.legs(ODD.len()).await.iter().map(|leg| room_of(leg).to_string()).collect();
        assert_eq!(rooms.len(), ODD.len());
    })
    .await;
}

/// Usage is asked for where the client did not, whatever the spelling of `stream`.
#[tokio::test]
async fn streams_are_asked_for_usage() {
    bounded(async {
        let pair = pair("").await;
        for (index, body) in [
            "{\"stream\":true,\"messages\":[]}",
            " { \"str\\u0065am\" :\ttrue , \"top_p\":0.90}",
            "{\"stream\":1,\"seed\":123456789012345678901234567890}",
        ]
        .into_iter()
        .enumerate()
        {
            pair.router.post(CHAT, body).send().await;
            let put = put_in(body, &pair.legs(index + 1).await[index].body);
            assert_eq!(put["stream_options"], json!({"include_usage": true}), "{body}");
            assert_eq!(put.as_object().map(serde_json::Map::len), Some(4), "{put}");
        }
        let page = pair.router.settled(3).await;
        assert_eq!(page.count("plimsoll_requests_total", &[("stream", "true")]), 3);
    })
    .await;
}

/// Options that are there are edited in place, and only they.
#[tokio::test]
async fn stream_options_are_edited_in_place() {
    bounded(async {
        let engine = replay(|_| Reply::json(200, ANSWER)).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        let same = |body: &'static str| (body, body);
        for (index, (sent, wanted)) in [
            (
                r#"{"a":0.70,"stream_options" : {"include_usage" : false , "x":1 },"stream":true}"#,
                r#"{"a":0.70,"stream_options" : {"include_usage" : true , "x":1 },"stream":true}"#,
            ),
            (
                r#"{"stream_options":null,"stream":true}"#,
                r#"{"stream_options":{"include_usage":true},"stream":true}"#,
            ),
            (
                r#"{"stream":true,"stream_options":{ "continuous_usage_stats":true}}"#,
                r#"{"stream":true,"stream_options":{"include_usage":true, "continuous_usage_stats":true}}"#,
            ),
            same(r#"{"stream":true,"stream_options":{"include_usage":true,"y":0.10}}"#),
            same(r#"{"stream":false,"stream_options":null,"x":0.10}"#),
        ]
        .into_iter()
        .enumerate()
        {
            router.post(CHAT, sent).send().await;
            assert_eq!(posts(&engine)[index].body, wanted);
        }
    })
    .await;
}

#[tokio::test]
async fn twenty_megabytes_reach_both_legs() {
    bounded(async {
        let pair = pair("").await;
        let text: String = ('a'..='z').cycle().take(20 << 20).collect();
        let body = format!("{{\"temperature\":0.7,\"prompt\":\"{text}\"}}");
        assert_eq!(pair.router.post("/v1/completions", body.clone()).send().await.status, 200);
        let legs = pair.legs(1).await;
        assert!(legs[0].body.len() > 20 << 20 && legs[0].body.ends_with(&body.as_bytes()[1..]));
        assert_eq!(legs[0].header("content-length"), Some(&*legs[0].body.len().to_string()));
    })
    .await;
}

/// A list of prompts gets a list of rooms, all distinct, in the same order on both legs.
#[tokio::test]
async fn lists_of_prompts_get_a_room_each() {
    bounded(async {
        let pair = pair("").await;
        for (index, (path, body, count)) in [
            ("/v1/completions", r#"{"prompt":["a","b","c"]}"#, Some(3)),
            ("/v1/completions", r#"{"prompt":[[1,2],[3]]}"#, Some(2)),
            ("/v1/completions", r#"{"prompt":["a"]}"#, Some(1)),
            ("/v1/completions", r#"{"prompt":[1,2,3]}"#, None),
            ("/v1/completions", r#"{"prompt":"a"}"#, None),
            ("/generate", r#"{"text":["a","b"]}"#, Some(2)),
            ("/generate", r#"{"input_ids":[[1],[2],[3],[4]]}"#, Some(4)),
            ("/generate", r#"{"input_ids":[1,2]}"#, None),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(pair.router.post(path, body).send().await.status, 200, "{body}");
            let leg = &pair.legs(index + 1).await[index];
            let room = room_of(leg);
            assert_eq!(room.as_array().map(Vec::len), count, "{body}");
            let put = put_in(body, &leg.body);
            if let Some(rooms) = room.as_array() {
                let distinct: HashSet<_> = rooms.iter().map(Value::as_u64).collect();
                assert_eq!(Some(distinct.len()), count, "{rooms:?}");
                assert_eq!(put["bootstrap_host"].as_array().map(Vec::len), count);
                assert_eq!(put["bootstrap_port"].as_array().map(Vec::len), count);
            }
        }
    })
    .await;
}

/// With `--stream-usage passthrough` nothing is asked for.
#[tokio::test]
async fn passthrough_asks_for_nothing() {
    bounded(async {
        let engine = replay(|_| Reply::json(200, ANSWER)).await;
        let line = format!("--worker-urls {} --stream-usage passthrough", engine.url());
        let router = Plimsoll::start(&line).await;
        let body = chat(",\"stream\":true");
        router.post(CHAT, body.clone()).send().await;
        assert_eq!(posts(&engine)[0].body, body);
    })
    .await;
}
