use std::{sync::Arc, time::Duration};

use plimsoll_wire::{Backend, Role};
use tokio::{sync::watch, time::Instant};

use super::{Cluster, Removal, Wanted};
use crate::{
    AdminError, AttemptResult, BreakerState, RouterConfig, Worker,
    workers::{Attempt, Place},
};

const GRACE: Duration = Duration::from_secs(60);

fn backend(url: &str, role: Role) -> Backend {
    Backend { url: url.into(), role, bootstrap_port: None }
}

/// A cluster whose workers are up without being asked.
fn cluster(workers: &[(&str, Role)]) -> Arc<Cluster> {
    let workers = workers.iter().map(|&(url, role)| backend(url, role)).collect();
    let mut config = RouterConfig::new(workers);
    config.health.disabled = true;
    config.drain_grace_period = GRACE;
    Cluster::new(config)
}

fn urls(cluster: &Cluster) -> Vec<String> {
    cluster.workers().iter().map(|worker| worker.url().to_string()).collect()
}

async fn is_eligible(worker: &Worker) {
    while !worker.is_eligible() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn version(changes: &mut watch::Receiver<u64>, wanted: u64) {
    changes.wait_for(|&version| version == wanted).await.unwrap();
}

#[test]
fn who_may_come() {
    let pairs = cluster(&[("http://p", Role::Prefill), ("http://d", Role::Decode)]);
    let plain = cluster(&[]);
    for (cluster, role, fits) in [
        (&pairs, Role::Prefill, true),
        (&pairs, Role::Decode, true),
        (&pairs, Role::Plain, false),
        (&plain, Role::Prefill, false),
        (&plain, Role::Decode, false),
        (&plain, Role::Plain, true),
    ] {
        let added = cluster.add(backend(&format!("http://{role}:1/"), role));
        assert_eq!(added.is_ok(), fits, "{added:?}");
    }
    assert_eq!(urls(&plain), ["http://plain:1"]);
    let again = plain.add(backend("http://PLAIN:1", Role::Plain));
    assert!(matches!(again, Err(AdminError::Present { draining: false, .. })), "{again:?}");
    let with_port = Backend { bootstrap_port: Some(1), ..backend("http://x", Role::Decode) };
    assert!(matches!(pairs.add(with_port), Err(AdminError::BootstrapPort { .. })));
}

#[test]
fn what_the_configuration_repeats_is_left_out() {
    let both = ["http://a", "http://a:80/", "ftp://b", "http://c"].map(|url| (url, Role::Plain));
    assert_eq!(urls(&cluster(&both)), ["http://a", "http://c"]);
}

#[test]
fn the_mode_stays_when_the_last_of_a_role_goes() {
    let cluster = cluster(&[("http://p", Role::Prefill)]);
    let (_, removal) = cluster.remove("http://p/").unwrap();
    assert_eq!((removal, urls(&cluster).len()), (Removal::Removed, 0));
    assert!(cluster.is_paired());
    assert!(matches!(cluster.remove("http://p"), Err(AdminError::Unknown { .. })));
    assert!(cluster.add(backend("http://p", Role::Prefill)).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_worker_goes_with_its_last_leg() {
    let cluster = cluster(&[("http://127.0.0.1:1", Role::Plain)]);
    let _tasks = cluster.probe();
    let mut changes = cluster.changes();
    let worker = cluster.workers()[0].clone();
    is_eligible(&worker).await;
    let leg = Place::take(&worker).unwrap();

    assert_eq!(cluster.remove("http://127.0.0.1:1").unwrap().1, Removal::Draining);
    assert!(
        worker.is_up() && !worker.is_eligible() && cluster.choose(&Wanted::default(), &[]).is_err()
    );
    assert_eq!(worker.reason().as_deref(), Some("draining"));
    let again = cluster.add(backend("http://127.0.0.1:1", Role::Plain));
    assert!(matches!(again, Err(AdminError::Present { draining: true, .. })), "{again:?}");
    tokio::time::sleep(GRACE / 2).await;
    assert_eq!(urls(&cluster).len(), 1);

    drop(leg);
    version(&mut changes, 2).await;
    assert_eq!(urls(&cluster).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_worker_goes_when_the_grace_period_ends() {
    let cluster = cluster(&[("http://127.0.0.1:1", Role::Plain)]);
    let _tasks = cluster.probe();
    let mut changes = cluster.changes();
    let leg = Place::take(&cluster.workers()[0]).unwrap();
    let ordered = Instant::now();
    for _ in 0..2 {
        assert_eq!(cluster.remove("http://127.0.0.1:1").unwrap().1, Removal::Draining);
    }
    version(&mut changes, 2).await;
    assert!(ordered.elapsed() >= GRACE && ordered.elapsed() < GRACE + Duration::from_secs(1));
    assert_eq!(leg.worker().in_flight(), 1);
}

/// Both by who holds them: the task of a worker is one of those.
#[tokio::test(start_paused = true)]
async fn who_comes_is_probed_and_who_has_gone_is_not() {
    let cluster = cluster(&[]);
    let tasks = cluster.probe();
    let first = cluster.add(backend("http://127.0.0.1:1", Role::Plain)).unwrap();
    is_eligible(&first).await;
    cluster.remove("http://127.0.0.1:1").unwrap();
    // Another one comes to the same place before anybody has looked.
    let second = cluster.add(backend("http://127.0.0.1:1", Role::Plain)).unwrap();
    is_eligible(&second).await;
    while Arc::strong_count(&first) > 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(tasks);
    // The set's own, and the one here.
    while Arc::strong_count(&second) > 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Nobody probes it: only a trial may close its breaker.
#[tokio::test(start_paused = true)]
async fn without_probes_a_breaker_stays_open() {
    let cluster = cluster(&[("http://127.0.0.1:1", Role::Plain)]);
    let _tasks = cluster.probe();
    let worker = cluster.workers()[0].clone();
    is_eligible(&worker).await;
    for _ in 0..5 {
        let mut attempt = Attempt::new(Place::take(&worker).unwrap(), None);
        attempt.settle(AttemptResult::Reset);
    }
    assert_eq!(worker.breaker_state(), BreakerState::Open);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(worker.breaker_state(), BreakerState::HalfOpen);
}

/// Its answer may be kept while the request waits for another worker.
#[tokio::test]
async fn who_has_failed_has_its_place_back() {
    let cluster = cluster(&[("http://127.0.0.1:1", Role::Plain)]);
    let worker = cluster.workers()[0].clone();
    let mut attempt = Attempt::new(Place::take(&worker).unwrap(), None);
    assert_eq!(worker.in_flight(), 1);
    attempt.settle(AttemptResult::Status5xx);
    assert_eq!(worker.in_flight(), 0);
    drop(attempt);
    assert_eq!((worker.in_flight(), worker.attempts(AttemptResult::Status5xx)), (0, 1));
}

#[tokio::test]
async fn what_is_asked_of_a_worker_itself_is_no_work() {
    let cluster = cluster(&[("http://127.0.0.1:1", Role::Plain)]);
    let worker = cluster.workers()[0].clone();
    for result in AttemptResult::ALL {
        for _ in 0..5 {
            Attempt::new(Place::take_beside(&worker), None).settle(result);
        }
        assert_eq!(worker.attempts(result), 0, "{result:?}");
    }
    assert_eq!(worker.breaker_state(), BreakerState::Closed);
}

/// A whole answer with 200 may still say that it failed.
#[tokio::test]
async fn who_reads_an_answer_tells_whether_it_is_good() {
    let cluster = cluster(&[("http://127.0.0.1:1", Role::Prefill)]);
    let worker = cluster.workers()[0].clone();
    let attempt = |is_good: bool| {
        let mut attempt = Attempt::new(Place::take(&worker).unwrap(), None);
        attempt.withhold();
        attempt.settle(AttemptResult::Ok);
        attempt.prove();
        if is_good {
            attempt.accept();
        } else {
            attempt.settle(AttemptResult::Status5xx);
        }
    };
    for is_good in [false, false, false, false, true, false, false, false, false] {
        attempt(is_good);
    }
    assert_eq!(worker.breaker_state(), BreakerState::Closed);
    attempt(false);
    assert_eq!(worker.breaker_state(), BreakerState::Open);
}
