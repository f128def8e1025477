use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;

use super::{PeekSlot, RequestPeek};
use crate::Endpoint;

fn peek(body: &str) -> RequestPeek {
    RequestPeek::read(body.as_bytes()).unwrap()
}

/// The body after the edit that asks for usage, or `None` where it needs none.
fn asked(body: &str) -> Option<String> {
    let bytes = Bytes::copy_from_slice(body.as_bytes());
    let edited = peek(body).with_usage_asked(&bytes)?;
    Some(String::from_utf8(edited.into_bytes().to_vec()).unwrap())
}

#[test]
fn the_members_that_matter() {
    let full = peek(
        "\n { \"messages\":[{\"content\":\"stream\\\":true\"}], \"\\u006dodel\" :\"a\\u0062\", \
         \"stream\": true, \"x\": 123456789012345678901234567890 } ",
    );
    assert_eq!((full.model.as_deref(), full.stream, full.open), (Some("ab"), true, 2));
    assert_eq!(
        (full.choices, full.prompts(Endpoint::Completions), full.steering, full.empty),
        (1, None, None, false)
    );
    assert!(peek(" {} ").empty);
    assert!(!peek(r#"{"stream":true,"stream":false}"#).stream);
    assert_eq!(peek(r#"{"model":7}"#).model, None);
}

#[test]
fn choices_wherever_they_stand() {
    for (body, want) in [
        (r#"{"n":1}"#, 1),
        (r#"{"n":"2"}"#, 2),
        (r#"{"\u006e":2}"#, 2),
        (r#"{"n":1,"best_of":4}"#, 4),
        (r#"{"n":null,"sampling_params":{"n":3}}"#, 3),
        (r#"{"sampling_params":[{"n":1},{"n":1,"n":2}]}"#, 2),
        (r#"{"sampling_params":"?"}"#, 1),
    ] {
        assert_eq!(peek(body).choices, want, "{body}");
    }
}

#[test]
fn prompts_where_the_endpoint_has_them() {
    for (endpoint, body, want) in [
        (Endpoint::Completions, r#"{"prompt":["a","b"]}"#, Some(2)),
        (Endpoint::Completions, r#"{"prompt":[1,2]}"#, None),
        (Endpoint::Completions, r#"{"prompt":"a","text":["a","b"]}"#, None),
        (Endpoint::Generate, r#"{"text":["a"]}"#, Some(1)),
        (Endpoint::Generate, r#"{"text":null,"input_ids":[[1],[2],[3]]}"#, Some(3)),
        (Endpoint::Generate, r#"{"text":"a","input_ids":[[1],[2],[3]]}"#, None),
        (Endpoint::Generate, r#"{"input_embeds":[[[0.5]],[[0.5]]]}"#, Some(2)),
        (Endpoint::Chat, r#"{"prompt":["a","b"],"text":["a","b"]}"#, None),
    ] {
        assert_eq!(peek(body).prompts(endpoint), want, "{body}");
    }
}

#[test]
fn steering_fields_are_seen_through_escapes() {
    for (body, want) in [
        (r#"{"bootstrap_room":1}"#, Some("bootstrap_room")),
        (r#"{"x":0,"boot\u0073trap_host":null}"#, Some("bootstrap_host")),
        (r#"{"kv_transfer_params":{}}"#, Some("kv_transfer_params")),
        (r#"{"messages":[{"bootstrap_room":1}],"x":"bootstrap_room"}"#, None),
    ] {
        assert_eq!(peek(body).steering, want, "{body}");
    }
}

#[test]
fn usage_is_asked_for_by_the_least_edit() {
    for (body, want) in [
        (
            r#" {"stream":true}"#,
            Some(r#" {"stream_options":{"include_usage":true},"stream":true}"#),
        ),
        (r#"{ }"#, Some(r#"{"stream_options":{"include_usage":true} }"#)),
        (
            r#"{"stream_options": null ,"a":0.70}"#,
            Some(r#"{"stream_options": {"include_usage":true} ,"a":0.70}"#),
        ),
        (r#"{"stream_options":{ }}"#, Some(r#"{"stream_options":{"include_usage":true }}"#)),
        (
            r#"{"stream_options":{"x":1}}"#,
            Some(r#"{"stream_options":{"include_usage":true,"x":1}}"#),
        ),
        (
            r#"{"stream_options":{"include_usage" : false}}"#,
            Some(r#"{"stream_options":{"include_usage" : true}}"#),
        ),
        (
            r#"{"stream_options":{"include_usage":true,"include_usage":null}}"#,
            Some(r#"{"stream_options":{"include_usage":true,"include_usage":true}}"#),
        ),
        (r#"{"stream_options":{"include_usage":true}}"#, None),
        (r#"{"stream_options":{"include_\u0075sage":true}}"#, None),
        (r#"{"stream_options":"?"}"#, None),
        (r#"{"stream_options":{"include_usage":"?"}}"#, None),
    ] {
        assert_eq!(asked(body).as_deref(), want, "{body}");
    }
}

#[test]
fn what_is_no_object_is_an_error() {
    for body in ["", "[]", "\"x\"", "{", "{}x", "{\"a\":NaN}", "{\"a\":1,}", "\u{feff}{}"] {
        assert!(RequestPeek::read(body.as_bytes()).is_err(), "{body}");
    }
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(peek(&deep).choices, 1);
}

#[test]
fn a_slot_keeps_the_first_peek() {
    let slot = PeekSlot::default();
    assert!(slot.get().is_none());
    assert!(slot.clone().read(b"{\"stream\":true}").unwrap().stream);
    assert!(slot.read(b"{}").unwrap().stream);
    let failed = PeekSlot::default();
    assert!(failed.read(b"[]").is_err() && failed.get().is_none());
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            members(inner).prop_map(Value::Object),
        ]
    })
}

fn members(
    value: impl Strategy<Value = Value>,
) -> impl Strategy<Value = serde_json::Map<String, Value>> {
    let name = prop_oneof![
        ".{0,6}",
        prop::sample::select(vec!["stream", "stream_options", "include_usage", "n", "model"])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec((name, value), 0..6).prop_map(|members| members.into_iter().collect())
}

proptest! {
    #[test]
    fn an_edit_changes_what_it_says_and_nothing_else(body in members(json())) {
        let text = serde_json::to_string_pretty(&body).unwrap();
        let Some(edited) = asked(&text) else { return Ok(()) };
        let mut want = Value::Object(body);
        if !want["stream_options"].is_object() {
            want["stream_options"] = Value::Object(serde_json::Map::new());
        }
        want["stream_options"]["include_usage"] = Value::Bool(true);
        prop_assert_eq!(serde_json::from_str::<Value>(&edited).unwrap(), want);
    }
}

#[test]
fn the_first_name_of_a_session_counts() {
    let session = |body| peek(body).session;
    assert_eq!(session(r#"{"user":"u","session_id":"s"}"#).as_deref(), Some("s"));
    assert_eq!(
        session(r#"{"prompt_cache_key":"","session_id":null,"user":"u"}"#).as_deref(),
        Some("u")
    );
    assert_eq!(session(r#"{"user":""}"#), None);
}
