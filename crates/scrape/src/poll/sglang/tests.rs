use std::{fs, path::Path};

use super::{RankLoad, ServerInfo, get_load::GetLoad, loads::Loads, supply};
use crate::{Facts, Page, Queue, Reading, signal::Signal};

/// A recorded answer; those of `captures` have their heads before them.
fn fixture(path: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let text = fs::read_to_string(folder.join(path)).expect("a fixture");
    text.split_once("\r\n\r\n").map_or(text.clone(), |(_, body)| body.to_owned())
}

fn loads(path: &str) -> Vec<RankLoad> {
    serde_json::from_str::<Loads>(&fixture(path)).unwrap().ranks().unwrap()
}

fn get_load(path: &str) -> Vec<RankLoad> {
    serde_json::from_str::<GetLoad>(&fixture(path)).unwrap().ranks()
}

/// What the loads say alone.
fn reading(ranks: &[RankLoad], facts: &Facts) -> Reading {
    let mut page = Page { engine: Some("sglang"), ..Page::default() };
    supply(&mut page, ranks, facts, ranks.iter().any(|rank| rank.has_run));
    Reading::of(&page, facts)
}

#[test]
fn v1_loads_says_what_each_rank_holds() {
    let ranks = loads("samples/json/sglang-0.5.23-v1_loads.json");
    let reading = reading(&ranks, &Facts::default());
    assert_eq!(reading.pools.len(), 2);
    assert_eq!((reading.capacity(), reading.used()), (Some(805_376.0), Some(212_480.0)));
    assert_eq!((reading.running, reading.queued(Queue::Waiting)), (Some(70.0), Some(4.0)));
    let first = loads("samples/json/sglang-0.5.8-v1_loads.json");
    let reading = self::reading(&first, &Facts::default());
    assert_eq!((reading.capacity(), reading.used()), (Some(805_120.0), Some(41_233.0)));
    assert_eq!(reading.queued(Queue::PrefillBootstrap), Some(0.0));
}

#[test]
fn a_server_that_never_ran_says_what_it_holds_and_no_more() {
    let ranks = loads("captures/sglang-0.5.23-nometrics/v1-loads.txt");
    let reading = reading(&ranks, &Facts::default());
    assert_eq!((reading.capacity(), reading.used()), (Some(4096.0), None));
    assert_eq!((reading.usage_ratio(), reading.running), (None, None));
    // An idle one that did run is empty.
    let ranks = loads("captures/sglang-0.5.23/get-v1-loads.txt");
    let reading = self::reading(&ranks, &Facts::default());
    assert_eq!((reading.capacity(), reading.used()), (Some(4096.0), Some(0.0)));
    assert_eq!((reading.usage_ratio(), reading.running), (Some(0.0), Some(0.0)));
}

#[test]
fn waiting_is_the_batch_queue_alone() {
    let ranks = loads("captures/sglang-0.5.23-pd-mooncake-tcp/loads-waiting.decode.txt");
    let reading = reading(&ranks, &Facts::default());
    assert_eq!(reading.used(), Some(24.0));
    assert_eq!(reading.queued(Queue::Waiting), Some(0.0));
    assert_eq!(reading.queued(Queue::DecodeTransfer), Some(1.0));
}

#[test]
fn get_load_has_what_waits_in_it() {
    let facts = |data_ranks, capacity| Facts {
        data_ranks: Some(data_ranks),
        rank_capacity: Some(capacity),
    };
    let one = get_load("samples/json/sglang-0.5.15-get_load.json");
    let reading = reading(&one, &facts(1, 402_688.0));
    assert_eq!((reading.capacity(), reading.used()), (Some(402_688.0), Some(188_416.0)));
    assert_eq!((reading.running, reading.queued(Queue::Waiting)), (Some(61.0), None));
    let two = get_load("samples/json/sglang-0.5.6-dp2-get_load.json");
    let reading = self::reading(&two, &facts(2, 100_000.0));
    assert_eq!((reading.capacity(), reading.used()), (Some(200_000.0), Some(65_355.0)));
    // Of the oldest, only the first rank is known.
    let first = get_load("samples/json/sglang-0.4.7-get_load.json");
    let reading = self::reading(&first, &facts(2, 402_688.0));
    assert_eq!((reading.capacity(), reading.used()), (Some(402_688.0), Some(301_233.0)));
    assert_eq!(reading.pools[0].rank.as_deref(), Some("0"));
}

#[test]
fn what_the_page_says_stands() {
    let mut page = Page::read("sglang:max_total_num_tokens{tp_rank=\"0\"} 4096\n");
    let load = |signal, value| RankLoad { values: vec![(signal, value)], ..RankLoad::default() };
    assert!(!supply(&mut page, &[load(Signal::Capacity, 9.0)], &Facts::default(), true));
    assert!(!supply(&mut page, &[load(Signal::Used, 0.0)], &Facts::default(), false));
    assert!(supply(&mut page, &[load(Signal::Used, 1024.0)], &Facts::default(), true));
    let reading = Reading::of(&page, &Facts::default());
    assert_eq!((reading.pools.len(), reading.usage_ratio()), (1, Some(0.25)));
}

#[test]
fn server_info_says_what_one_rank_holds() {
    for (path, data_ranks) in [
        ("captures/sglang-0.5.23-dp2/server_info.txt", 2),
        ("captures/sglang-0.5.23/get-server_info.txt", 1),
    ] {
        let info = ServerInfo::read(fixture(path).as_bytes()).unwrap();
        assert_eq!((info.version.as_deref(), info.tp_size), (Some("0.5.23"), Some(1)));
        let want = Facts { data_ranks: Some(data_ranks), rank_capacity: Some(4096.0) };
        assert_eq!(info.facts(), want);
    }
    let early =
        br#"{"tp_size":2,"version":7,"internal_states":[{"memory_usage":{"token_capacity":99}}]}"#;
    let info = ServerInfo::read(early).unwrap();
    assert_eq!((info.version.as_deref(), info.facts().rank_capacity), (None, Some(99.0)));
    assert!(ServerInfo::read(b"{\"detail\":\"Not Found\"}").is_none());
}
