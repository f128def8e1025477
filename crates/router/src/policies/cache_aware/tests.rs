use std::{sync::Arc, time::Duration};

use super::{AffinityConfig, CacheAware, Candidate, Hint, Policy};
use crate::policies::testing::{candidates, urls};

fn policy() -> CacheAware {
    CacheAware::new(&AffinityConfig::default())
}

fn pick(policy: &CacheAware, candidates: &[Candidate<'_>], prompt: &str) -> usize {
    policy.pick(candidates, &Hint { prompt: prompt.as_bytes(), session: None }).unwrap()
}

fn chat(text: &str) -> String {
    format!(r#"[{{"role":"user","content":"{text}"}}]"#)
}

/// Text of so many bytes, its own for each name.
fn text(name: &str, bytes: usize) -> String {
    name.chars().cycle().take(bytes).collect()
}

#[test]
fn prompts_go_where_their_beginnings_went() {
    let (policy, urls) = (policy(), urls(3));
    let idle = candidates(&urls, &[0, 0, 0]);
    for (turn, worker) in [("abc", 0), ("def", 1), ("ghi", 2)] {
        assert_eq!(pick(&policy, &idle, &chat(&text(turn, 400))), worker);
    }
    // Although others are less loaded.
    let busy = candidates(&urls, &[20, 50, 9]);
    assert_eq!(pick(&policy, &busy, &chat(&text("def", 900))), 1);
    assert_eq!(pick(&policy, &busy, &chat(&text("def", 1_100))), 1, "the longer one is known too");
    assert_eq!(pick(&policy, &busy, &chat(&text("abc", 400))), 0);
    assert_eq!(policy.pick(&[], &Hint::default()), None);
}

#[test]
fn a_share_of_the_prompt_must_be_known() {
    let (policy, urls) = (policy(), urls(2));
    let first = candidates(&urls, &[0, 1]);
    let second = candidates(&urls, &[1, 0]);
    let long = |end: &str, bytes| text("abc", 320) + &text(end, bytes);
    assert_eq!(pick(&policy, &first, &long("x", 0)), 0);
    assert_eq!(pick(&policy, &second, &long("y", 800)), 1, "320 of 1,120 are too few");
    assert_eq!(pick(&policy, &first, &long("z", 600)), 1, "320 of 920, last seen by the other");
}

#[test]
fn short_prompts_do_not_look_alike() {
    let (policy, urls) = (policy(), urls(4));
    let idle = candidates(&urls, &[0; 4]);
    let texts = ["hi", "yes", "what is new?", "one more that is a little longer"];
    for _ in 0..2 {
        for (worker, text) in texts.into_iter().enumerate() {
            assert_eq!(pick(&policy, &idle, &chat(text)), worker);
        }
    }
    let parts =
        |text| format!(r#"[{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}]"#);
    let picks = texts.map(|text| pick(&policy, &idle, &parts(text)));
    assert_eq!(picks, [0, 1, 2, 3]);
}

#[test]
fn uneven_load_comes_first() {
    let (policy, urls) = (policy(), urls(2));
    let prompt = text("abc", 400);
    assert_eq!(pick(&policy, &candidates(&urls, &[0, 1]), &prompt), 0);
    for (in_flight, worker) in [
        ([64, 0], 0),    // 64 more, not more than that
        ([200, 135], 0), // 65 more, but less than half as many again
        ([65, 0], 1),
        ([0, 0], 1), // which has seen it since
    ] {
        let candidates = candidates(&urls, &in_flight);
        assert_eq!(pick(&policy, &candidates, &prompt), worker, "{in_flight:?}");
    }
}

#[test]
fn of_workers_that_have_gone_what_is_known_is_passed_over() {
    let (policy, urls) = (policy(), urls(3));
    let idle = candidates(&urls, &[0, 0, 0]);
    let all: [Arc<str>; 2] = [text("abc", 500).into(), text("abc", 900).into()];
    assert_eq!(pick(&policy, &candidates(&urls, &[1, 0, 1]), &all[0]), 1);
    assert_eq!(pick(&policy, &candidates(&urls[..1], &[0]), &all[1]), 0);
    let prompt = text("abc", 450);
    assert_eq!(
        pick(&policy, &candidates(&urls[1..], &[5, 0]), &prompt),
        1,
        "the first is not there"
    );
    assert_eq!(pick(&policy, &idle, &all[1]), 0);
}

#[test]
fn a_prompt_without_text_is_for_the_least_loaded() {
    let (policy, urls) = (policy(), urls(3));
    let candidates = candidates(&urls, &[0, 1, 0]);
    assert_eq!([(); 4].map(|()| pick(&policy, &candidates, "")), [0, 2, 0, 2]);
    assert_eq!(policy.seen.bytes(), 0);
}

#[test]
fn what_is_remembered_has_a_bound() {
    let max_tree_size = 200_000;
    let config = AffinityConfig { max_tree_size, ..AffinityConfig::default() };
    let (policy, urls) = (CacheAware::new(&config), urls(3));
    let idle = candidates(&urls, &[0; 3]);
    for number in 0..2_000 {
        pick(&policy, &idle, &text(&format!("prompt {number} "), 3_000));
        assert!(policy.seen.bytes() <= max_tree_size);
    }
    assert!(policy.seen.bytes() > max_tree_size / 2);
}

#[tokio::test(start_paused = true)]
async fn room_is_made_in_time() {
    let config = AffinityConfig { max_tree_size: 100_000, ..AffinityConfig::default() };
    let (policy, urls) = (CacheAware::new(&config), urls(1));
    let idle = candidates(&urls, &[0]);
    let prompt = |number| text(&format!("prompt {number} "), 3_000);
    let mut number = 0;
    while policy.seen.bytes() < 90_000 {
        pick(&policy, &idle, &prompt(number));
        number += 1;
    }
    tokio::time::advance(Duration::from_secs(61)).await;
    for _ in 0..20 {
        pick(&policy, &idle, &prompt(number));
    }
    assert!(policy.seen.bytes() < 80_000, "{}", policy.seen.bytes());
}
