//! Every page that a real engine gave, and the loads that SGLang gave beside some of them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use plimsoll_scrape::{Facts, Page, Reading, State, exposition};

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/captures")
}

fn reading(path: &str) -> Reading {
    let page = fs::read_to_string(captures().join(path)).expect("a page");
    Reading::of(&Page::read(&page), &Facts::default())
}

#[test]
fn every_page_is_read_without_a_bad_line() {
    let mut pages = 0;
    for folder in fs::read_dir(captures()).unwrap() {
        let files = fs::read_dir(folder.unwrap().path()).into_iter().flatten();
        let paths = files.map(|file| file.unwrap().path());
        for path in paths.filter(|path| path.extension().is_some_and(|end| end == "prom")) {
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(exposition::lines(&text).filter(Result::is_err).count(), 0, "{path:?}");
            let page = Page::read(&text);
            let discarded = (page.discarded.malformed, page.discarded.duplicate);
            assert_eq!(discarded, (0, 0), "{path:?}");
            assert!(page.engine.is_some(), "{path:?}");
            pages += 1;
        }
    }
    assert!(pages >= 50, "{pages} pages");
}

/// What `/v1/loads` says of all ranks together.
fn loads(path: &str, member: &str) -> f64 {
    let answer = fs::read_to_string(captures().join(path)).expect("loads");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    let loads: serde_json::Value = serde_json::from_str(body).expect("JSON");
    let ranks = loads["loads"].as_array().into_iter().flatten();
    ranks.map(|load| load[member].as_f64().expect("a number")).sum()
}

/// A page's use is up to 40 decode steps older than that of the loads.
#[test]
fn readings_are_as_the_loads_beside_them() {
    for (page, beside) in [
        ("sglang-0.5.23-dp2/metrics-3-during-load.prom", "sglang-0.5.23-dp2/loads-during-load.txt"),
        ("sglang-0.5.23-tp2/metrics-3-during-load.prom", "sglang-0.5.23-tp2/loads-during-load.txt"),
        (
            "sglang-0.5.23-pd-mooncake-tcp/decode-metrics-3-end.prom",
            "sglang-0.5.23-pd-mooncake-tcp/loads.decode.txt",
        ),
        (
            "sglang-0.5.23-pd-mooncake-tcp/prefill-metrics-3-end.prom",
            "sglang-0.5.23-pd-mooncake-tcp/loads.prefill.txt",
        ),
    ] {
        let reading = reading(page);
        assert_eq!(reading.state, State::Ok, "{page}");
        assert_eq!(reading.capacity(), Some(loads(beside, "max_total_num_tokens")), "{page}");
        let running = loads(beside, "num_running_reqs");
        assert_eq!(reading.running, Some(running), "{page}");
        let older = loads(beside, "num_used_tokens") - reading.used().expect("its use");
        assert!((0.0..=40.0 * running).contains(&older), "{page}: {older} tokens behind");
    }
}

#[test]
fn before_the_first_batch_only_the_capacity_is_known() {
    for (page, capacity) in [
        ("sglang-0.5.23/metrics-0-before.prom", 4096.0),
        ("sglang-0.5.23-tp2/metrics-0-before.prom", 4096.0),
        ("sglang-0.5.23-pd-mooncake-tcp/decode-metrics-0-before.prom", 4096.0),
        // of a short request a decode server's page says nothing: the gauges are set every 40 steps
        ("sglang-0.5.23-pd-mooncake-tcp/decode-metrics-1-after-first.prom", 4096.0),
    ] {
        let reading = reading(page);
        assert_eq!(reading.state, State::CapacityOnly, "{page}");
        assert_eq!((reading.capacity(), reading.used()), (Some(capacity), None), "{page}");
    }
}
