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
fn what_works_is_not_warned_about() {
    let line = format!("{WORKER} --policy round_robin --decode-policy round_robin --api-key k");
    assert!(settings(&line).warnings.is_empty());
}
