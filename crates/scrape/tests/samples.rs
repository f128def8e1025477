//! Pages in the true format of many engines and versions, each with its one right reading.

use std::{fs, path::Path};

use plimsoll_scrape::{Discarded, Facts, Page, Queue, Reading, State};

/// What a page is to be read as. Ratios are given to four decimals.
struct Want {
    page: &'static str,
    facts: Facts,
    state: State,
    pools: usize,
    capacity: Option<f64>,
    used: Option<f64>,
    ratio: Option<f64>,
    ratio_max: Option<f64>,
    running: Option<f64>,
    waiting: Option<f64>,
}

const NOTHING: Want = Want {
    page: "",
    facts: Facts { data_ranks: None, rank_capacity: None },
    state: State::Ok,
    pools: 1,
    capacity: None,
    used: None,
    ratio: None,
    ratio_max: None,
    running: None,
    waiting: None,
};

const fn full(
    page: &'static str,
    (capacity, used): (u32, u32),
    (ratio, ratio_max): (f64, f64),
    (running, waiting): (u32, u32),
) -> Want {
    Want {
        page,
        capacity: Some(capacity as f64),
        used: Some(used as f64),
        ratio: Some(ratio),
        ratio_max: Some(ratio_max),
        running: Some(running as f64),
        waiting: Some(waiting as f64),
        ..NOTHING
    }
}

const fn capacity_only(page: &'static str, capacity: u32) -> Want {
    Want { page, state: State::CapacityOnly, capacity: Some(capacity as f64), ..NOTHING }
}

const TWO_RANKS: Facts = Facts { data_ranks: Some(2), rank_capacity: Some(402_688.0) };

const WANTED: [Want; 17] = [
    capacity_only("seed-decode-tp4", 2_581_504),
    capacity_only("sglang-0.5.23-decode-idle-tp4", 1_482_752),
    full("sglang-0.5.23-decode-loaded-tp4", (1_482_752, 912_384), (0.6153, 0.6153), (87, 3)),
    full("sglang-0.5.23-prefill-tp4", (1_482_752, 611_200), (0.4122, 0.4122), (2, 11)),
    Want {
        pools: 2,
        ..full("sglang-0.5.23-dp2-tp4", (805_376, 212_480), (0.2638, 0.4679), (70, 4))
    },
    full("sglang-0.5.23-priority-tp1", (1_482_752, 326_353), (0.2201, 0.2201), (30, 12)),
    full("sglang-0.5.23-swa-hicache-tp1", (2_210_048, 692_187), (0.3132, 0.8713), (44, 0)),
    full("sglang-0.5.12-pp2-tp2", (611_904, 214_590), (0.3507, 0.3507), (18, 2)),
    full("sglang-0.5.6-decode-loaded-tp4", (805_120, 412_345), (0.5122, 0.5122), (40, 0)),
    Want {
        page: "sglang-0.4.9-dp2",
        facts: TWO_RANKS,
        state: State::Partial,
        capacity: Some(805_376.0),
        ..NOTHING
    },
    Want {
        facts: TWO_RANKS,
        ..full("sglang-0.4.1-dp2", (805_376, 231_353), (0.2873, 0.2873), (32, 2))
    },
    Want { pools: 2, ..full("vllm-0.33.0-v1-dp2", (669_824, 309_242), (0.4617, 0.8313), (47, 9)) },
    full("vllm-0.10.0-v1-api2", (334_912, 138_319), (0.413, 0.413), (14, 0)),
    full("vllm-0.6.6-v0", (440_320, 274_402), (0.6232, 0.6232), (23, 4)),
    full("trtllm-main", (483_840, 353_792), (0.7312, 0.7312), (33, 2)),
    Want {
        page: "llamacpp-current",
        state: State::NoKvMetric,
        pools: 0,
        running: Some(2.0),
        waiting: Some(1.0),
        ..NOTHING
    },
    full("llamacpp-2025-04", (16_384, 5_124), (0.3127, 0.3127), (2, 1)),
];

fn sample(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/samples");
    fs::read_to_string(folder.join(name).with_extension("prom")).expect("a sample")
}

fn rounded(ratio: Option<f64>) -> Option<f64> {
    ratio.map(|ratio| (ratio * 1e4).round() / 1e4)
}

#[test]
fn every_sample_has_its_one_reading() {
    for want in WANTED {
        let name = want.page;
        let path = format!("{name}.prom");
        let page = Page::read(&sample(&path));
        assert_eq!((page.discarded.malformed, page.discarded.duplicate), (0, 0), "{name}");
        let reading = Reading::of(&page, &want.facts);
        assert_eq!((reading.state, reading.pools.len()), (want.state, want.pools), "{name}");
        assert_eq!((reading.capacity(), reading.used()), (want.capacity, want.used), "{name}");
        let ratios = (rounded(reading.usage_ratio()), rounded(reading.usage_ratio_max()));
        assert_eq!(ratios, (want.ratio, want.ratio_max), "{name}");
        assert_eq!(
            (reading.running, reading.queued(Queue::Waiting)),
            (want.running, want.waiting),
            "{name}"
        );
    }
}

#[test]
fn pages_that_say_nothing_say_why() {
    for (page, state) in [
        ("", State::Empty),
        ("\n", State::Empty),
        ("engine2:kv_fill{model_name=\"acme/tiny\"} 0.9", State::NoKvMetric),
        ("python_gc_objects_collected_total{generation=\"0\"} 11", State::NoKvMetric),
        (
            "vllm:engine_sleep_state{engine=\"0\",sleep_state=\"awake\"} 0.0\n\
             vllm:kv_cache_usage_perc{engine=\"0\"} 0.0",
            State::Sleeping,
        ),
    ] {
        let page = Page::read(page);
        let reading = Reading::of(&page, &Facts::default());
        assert_eq!((reading.state, reading.pools.len()), (state, 0));
        assert_eq!((reading.usage_ratio(), page.discarded), (None, Discarded::default()));
    }
}

#[test]
fn unequal_ranks_are_weighed_and_the_fullest_shown() {
    let page = "sglang:token_usage{dp_rank=\"0\",tp_rank=\"0\"} 0.9\n\
                sglang:token_usage{dp_rank=\"0\",tp_rank=\"1\"} 0.9\n\
                sglang:token_usage{dp_rank=\"1\",tp_rank=\"2\"} 0.1\n\
                sglang:token_usage{dp_rank=\"1\",tp_rank=\"3\"} 0.1\n\
                sglang:max_total_num_tokens{dp_rank=\"0\",tp_rank=\"0\"} 1000\n\
                sglang:max_total_num_tokens{dp_rank=\"0\",tp_rank=\"1\"} 1000\n\
                sglang:max_total_num_tokens{dp_rank=\"1\",tp_rank=\"2\"} 3000\n\
                sglang:max_total_num_tokens{dp_rank=\"1\",tp_rank=\"3\"} 3000\n";
    let reading = Reading::of(&Page::read(page), &Facts::default());
    assert_eq!((reading.capacity(), rounded(reading.usage_ratio())), (Some(4000.0), Some(0.3)));
    assert_eq!(reading.usage_ratio_max(), Some(0.9));
}

fn reading(page: &str, facts: &Facts) -> Reading {
    Reading::of(&Page::read(page), facts)
}

/// On a hybrid model `num_used_tokens` and `token_usage` are those of the fuller pool.
#[test]
fn pools_of_a_hybrid_model_are_kept_apart() {
    let mixed = "sglang:num_used_tokens 900\nsglang:token_usage 0.95\nsglang:swa_token_usage 0.95\n\
                 sglang:max_total_num_tokens 1000\nsglang:max_total_num_tokens_swa 950\n";
    let told = reading(&format!("{mixed}sglang:full_token_usage 0.3\n"), &Facts::default());
    assert_eq!((told.used(), told.usage_ratio()), (Some(300.0), Some(0.3)));
    assert_eq!(told.usage_ratio_max(), Some(0.95));
    assert_eq!(reading(mixed, &Facts::default()).used(), None);
}

/// Three of four ranks have no name.
#[test]
fn a_rank_without_a_name_holds_what_the_named_ones_do_not() {
    let page = "sglang:num_used_tokens{engine_type=\"unified\"} 12\n\
                sglang:num_used_tokens{engine_type=\"unified\",dp_rank=\"0\"} 100\n\
                sglang:num_running_reqs{engine_type=\"unified\",dp_rank=\"0\"} 1\n";
    let facts = |data_ranks| Facts { data_ranks, rank_capacity: Some(1000.0) };
    let of_four = reading(page, &facts(Some(4)));
    assert_eq!((of_four.capacity(), of_four.used()), (Some(4000.0), Some(100.0)));
    assert_eq!((of_four.state, of_four.running), (State::Partial, Some(1.0)));
    // Where all have one, it is one more.
    assert_eq!(reading(page, &facts(None)).used(), Some(112.0));
}

/// SGLang 0.5.2 to 0.5.5 has no ratio of the full pool alone, and writes that of the others on every
/// model.
#[test]
fn a_pool_that_is_empty_or_not_there_does_not_hide_a_full_one() {
    for (headline, swa) in [(0.8, 0.0), (0.9, 0.2)] {
        let page = format!(
            "sglang:token_usage {headline}\nsglang:swa_token_usage {swa}\nsglang:num_used_tokens 800\n"
        );
        let reading = reading(&page, &Facts::default());
        let ratios = (reading.usage_ratio(), reading.usage_ratio_max());
        assert_eq!(ratios, (Some(headline), Some(headline)), "{page}");
    }
}

/// vLLM says the blocks of all its data ranks on each rank's series, also when a node is gone.
#[test]
fn blocks_of_all_ranks_are_shared_out_among_those_expected() {
    let rank = |engine| {
        format!(
            "vllm:kv_cache_usage_perc{{engine=\"{engine}\"}} 0.5\n\
             vllm:cache_config_info{{engine=\"{engine}\",block_size=\"16\",num_gpu_blocks=\"2000\"}} 1\n"
        )
    };
    let both = reading(&(rank(0) + &rank(1)), &Facts::default());
    assert_eq!((both.capacity(), both.used()), (Some(32_000.0), Some(16_000.0)));
    let facts = Facts { data_ranks: Some(2), ..Facts::default() };
    let one = reading(&rank(0), &facts);
    assert_eq!((one.capacity(), one.used()), (Some(16_000.0), Some(8000.0)));
}

#[test]
fn a_rounded_ratio_says_no_capacity() {
    let page = "sglang:token_usage 0.01\nsglang:num_used_tokens 8000\n";
    let reading = reading(page, &Facts::default());
    assert_eq!((reading.capacity(), reading.used()), (None, Some(8000.0)));
}

#[test]
fn a_request_may_wait_for_its_grammar() {
    let page = "sglang:num_queue_reqs 3\nsglang:num_grammar_queue_reqs 5\n";
    assert_eq!(reading(page, &Facts::default()).queued(Queue::Waiting), Some(8.0));
}

#[test]
fn a_flood_of_ranks_is_bounded_and_counted() {
    let line = |rank| format!("sglang:token_usage{{dp_rank=\"{rank}\"}} 0.5\n");
    let page = Page::read(&(0..5000).map(line).collect::<String>());
    let pools = Reading::of(&page, &Facts::default()).pools.len() as u64;
    assert_eq!((pools, page.discarded.out_of_range), (1024, 5000 - 1024));
}
