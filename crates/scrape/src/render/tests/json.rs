//! The document of `GET /kv`.

use super::*;

#[test]
fn it_is_read_back_as_it_was() {
    let report = report();
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    assert!(serde_json::from_str::<Report>("{\"roles\":[],\"workers\":[]}").is_err());
}

#[test]
fn counts_are_whole_and_what_is_not_known_is_null() {
    let value = serde_json::to_value(report()).unwrap();
    let (idle, full) = (&value["workers"][0], &value["workers"][1]);
    assert_eq!(full["capacity_tokens"].to_string(), "2581504");
    assert_eq!(full["usage_ratio"].to_string(), "0.375");
    assert_eq!(full["unweighted"], false);
    assert_eq!(full["queues"].to_string(), "{\"decode_prealloc\":2,\"waiting\":1}");
    assert_eq!(full["pools"][1]["rank"], "1");
    assert_eq!(full["model"], ODD);
    assert_eq!(idle["state"], "disabled");
    assert_eq!(idle["hint"], State::Disabled.hint());
    for member in ["used_tokens", "usage_ratio", "model", "engine", "age_seconds"] {
        assert!(idle.get(member).is_some_and(serde_json::Value::is_null), "{member}");
    }
    assert_eq!(value["roles"][1]["ranks_reporting"], 2);
}
