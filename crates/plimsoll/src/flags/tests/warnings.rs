//! What is said about flags that are accepted.

use super::*;

#[test]
fn flags_that_never_have_an_effect_get_a_warning_each() {
    let warnings = settings(&format!(
        "{WORKER} --model-path m --tokenizer-cache-enable-l0 --tool-call-parser qwen"
    ))
    .warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].starts_with("--model-path: has no effect"), "{warnings:?}");
}

#[test]
fn flags_without_effect_yet_share_one_warning() {
    let file = Config::new("sse-keepalive-secs = 5");
    let line = file.after(&format!("{WORKER} --policy least_kv --queue-size 3 --disable-retries"));
    let warnings = settings_in(&line, &["PLIMSOLL_ENGINE=vllm"]).unwrap().warnings;
    assert_eq!(
        warnings,
        [
            "without effect in this version: --queue-size, --disable-retries, --engine, --sse-keepalive-secs, \
          --policy least_kv (round_robin is used)"
        ]
    );
}

#[test]
fn what_works_is_not_warned_about() {
    let line = format!("{WORKER} --policy round_robin --decode-policy round_robin --api-key k");
    assert!(settings(&line).warnings.is_empty());
}
