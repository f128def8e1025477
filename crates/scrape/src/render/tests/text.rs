//! The page.

use super::{super::FAMILIES, *};
use crate::exposition;

fn page(report: &Report) -> String {
    let mut page = String::new();
    report.write_text(&mut page).unwrap();
    page
}

#[test]
fn the_whole_page() {
    assert_eq!(page(&report()), include_str!("page.prom"));
}

#[test]
fn families_are_sorted_each_once() {
    assert!(FAMILIES.windows(2).all(|pair| pair[0].name < pair[1].name));
}

#[test]
fn families_have_the_labels_that_they_say() {
    let page = page(&report());
    for sample in exposition::lines(&page) {
        let sample = sample.unwrap();
        let family = FAMILIES.iter().find(|family| family.name == sample.name).unwrap();
        let labels: Vec<_> = sample.labels.iter().map(|label| label.name).collect();
        let mut wanted = family.labels().to_vec();
        wanted.sort_by_key(|name| labels.iter().position(|label| label == name));
        assert_eq!(labels, wanted, "{}", family.name);
    }
}

#[test]
fn our_own_reader_reads_it_and_the_odd_name_comes_back() {
    let page = page(&report());
    let mut models = 0;
    for sample in exposition::lines(&page) {
        if let Some(model) = sample.unwrap().labels.get("model").filter(|model| model != "unknown")
        {
            assert_eq!(model, ODD);
            models += 1;
        }
    }
    assert!(models > 20);
}

#[test]
fn a_worker_not_asked_yet_has_a_state_and_no_numbers() {
    let pending = Arc::new(worker("http://p:1", Role::Prefill));
    let now = Instant::now();
    let page = page(&Snapshot { workers: vec![pending] }.report(now));
    let lines: Vec<_> = page.lines().filter(|line| line.starts_with("plimsoll_")).collect();
    let want = [
        "plimsoll_kv_ranks_expected{role=\"prefill\",model=\"unknown\"} 1",
        "plimsoll_kv_ranks_reporting{role=\"prefill\",model=\"unknown\"} 0",
        "plimsoll_worker_reading_state{worker=\"http://p:1\",role=\"prefill\",state=\"pending\"} 1",
    ];
    assert_eq!(lines, want);
}

#[test]
fn a_worker_past_its_limit_keeps_its_age_and_loses_its_numbers() {
    let now = Instant::now() + Duration::from_secs(1);
    let old =
        WorkerReading { state: State::Timeout, reading: None, sources: Vec::new(), ..full(now) };
    let page = page(&Snapshot { workers: vec![Arc::new(old)] }.report(now));
    let age = "plimsoll_worker_reading_age_seconds{worker=\"http://d:1\",role=\"decode\"} 0.25\n";
    assert!(page.contains(age), "{page}");
    for gone in ["_ratio{", "_tokens{", "_source{", "_requests{"] {
        assert!(!page.contains(gone), "{page}");
    }
}

#[test]
fn a_pool_of_all_ranks_is_not_that_of_the_first() {
    let pool = Pool { usage_ratio: Some(0.5), ..Pool::default() };
    for (data_ranks, wanted) in [(None, "0"), (Some(1), "0"), (Some(2), "all")] {
        let worker = WorkerReading {
            reading: Some(Reading { pools: vec![pool.clone()], ..Reading::default() }),
            identity: Identity { data_ranks, ..Identity::default() },
            ..worker("http://a:1", Role::Plain)
        };
        let page = page(&Snapshot { workers: vec![Arc::new(worker)] }.report(Instant::now()));
        let line = format!("dp_rank=\"{wanted}\",pool=\"full\"}} 0.5\n");
        assert!(page.contains(&line), "{data_ranks:?}: {page}");
    }
}

#[test]
fn no_workers_no_page() {
    let mut page = String::new();
    Snapshot::default().write_text(&mut page, Instant::now()).unwrap();
    assert_eq!(page, "");
}

#[test]
fn a_model_named_unknown_makes_no_second_series() {
    let now = Instant::now();
    let named =
        WorkerReading { model: Some("unknown".into()), ..worker("http://a:1", Role::Plain) };
    let workers = vec![Arc::new(named), Arc::new(worker("http://b:1", Role::Plain))];
    let page = page(&Snapshot { workers }.report(now));
    assert_eq!(page.matches("plimsoll_kv_ranks_expected{").count(), 1);
}
