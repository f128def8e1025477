//! What is added up, and what is not.

use super::*;

fn read(url: &str, role: Role, pools: Vec<Pool>) -> Arc<WorkerReading> {
    let reading = Reading { pools, ..Reading::default() };
    let state = State::Ok;
    Arc::new(WorkerReading { reading: Some(reading), state, ..worker(url, role) })
}

fn pool(ratio: f64, capacity: Option<f64>) -> Pool {
    Pool {
        capacity,
        used: capacity.map(|capacity| ratio * capacity),
        usage_ratio: Some(ratio),
        usage_ratio_max: Some(ratio),
        ..Pool::default()
    }
}

fn sums(workers: Vec<Arc<WorkerReading>>) -> Report {
    Snapshot { workers }.report(Instant::now())
}

#[test]
fn ratios_are_weighted_by_capacity() {
    let report = sums(vec![
        read("http://a:1", Role::Plain, vec![pool(0.95, Some(1_000.0))]),
        read("http://b:1", Role::Plain, vec![pool(0.05, Some(99_000.0))]),
    ]);
    let load = &report.roles[0].load;
    assert!((load.usage_ratio.unwrap() - 0.059).abs() < 1e-9);
    assert_eq!((load.usage_ratio_max, load.unweighted), (Some(0.95), false));
    assert_eq!((load.used_tokens, load.capacity_tokens), (Some(5_900), Some(100_000)));
}

#[test]
fn without_any_capacity_the_mean_is_plain_and_says_so() {
    let report = sums(vec![
        read("http://a:1", Role::Plain, vec![pool(0.95, None)]),
        read("http://b:1", Role::Plain, vec![pool(0.05, None)]),
    ]);
    let load = &report.roles[0].load;
    assert_eq!((load.usage_ratio, load.unweighted, load.capacity_tokens), (Some(0.5), true, None));
    assert!(report.table().to_string().contains("~50.0 %"));
}

#[test]
fn what_is_cached_and_evictable_is_occupied() {
    let pool =
        Pool { available: Some(2_800.0), evictable: Some(7_000.0), ..pool(0.02, Some(10_000.0)) };
    let report = sums(vec![read("http://a:1", Role::Decode, vec![pool])]);
    let load = &report.workers[0].load;
    assert_eq!((load.usage_ratio, load.occupied_ratio), (Some(0.02), Some(0.72)));
}

#[test]
fn roles_and_models_are_apart_and_in_order() {
    let of = |url, role, model: &str| {
        let read = read(url, role, vec![pool(0.5, Some(10.0))]);
        Arc::new(WorkerReading { model: Some(model.into()), ..(*read).clone() })
    };
    let report = sums(vec![
        of("http://a:1", Role::Decode, "b"),
        of("http://b:1", Role::Decode, "a"),
        of("http://c:1", Role::Prefill, "b"),
        of("http://d:1", Role::Decode, "a"),
    ]);
    let roles = report.roles.iter().map(|role| {
        (&*role.role, role.model.as_deref().unwrap_or("?"), role.load.capacity_tokens.unwrap_or(0))
    });
    let want = [("prefill", "b", 10), ("decode", "a", 20), ("decode", "b", 10)];
    assert_eq!(roles.collect::<Vec<_>>(), want);
}

#[test]
fn a_worker_past_its_limit_is_expected_and_not_in_the_sums() {
    let gone = WorkerReading { state: State::Timeout, ..worker("http://a:1", Role::Plain) };
    let alive = read("http://b:1", Role::Plain, vec![pool(0.5, Some(10.0))]);
    let report = sums(vec![Arc::new(gone), alive]);
    let load = &report.roles[0].load;
    assert_eq!((load.ranks_reporting, load.ranks_expected), (1, 2));
    assert_eq!(load.usage_ratio, Some(0.5));
    assert!(!report.workers[0].has_reading() && report.workers[1].has_reading());
}

#[test]
fn queues_of_the_other_role_are_left_out() {
    let queued = [Some(1.0), Some(2.0), Some(4.0), Some(8.0), Some(16.0)];
    for (role, queues, sum) in [(Role::Prefill, 3, 7), (Role::Decode, 3, 25), (Role::Plain, 1, 1)] {
        let reading = Some(Reading { queued, ..Reading::default() });
        let worker = WorkerReading { reading, ..worker("http://a:1", role) };
        let report = sums(vec![Arc::new(worker)]);
        assert_eq!(report.workers[0].queues.len(), queues, "{role}");
        assert_eq!(report.roles[0].load.queued_requests, Some(sum), "{role}");
    }
}
