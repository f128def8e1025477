//! A worker that fails again and again is left alone, and comes back.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use plimsoll_sim::{
    Fault, FaultAction, SimConfig,
    replay::{ReplayServer, Reply},
};

use super::{BUSY, CHAT, IN_TURN, QUICK, all_up, attempts, breaker, good, raw, retries, silent};
use crate::support::{Page, Pair, Plimsoll, bounded, chat, eventually, posts, replay, sim};

/// An engine that answers 503 until it is healed.
async fn ailing() -> (ReplayServer, Arc<AtomicBool>) {
    let healed = Arc::new(AtomicBool::new(false));
    let shared = healed.clone();
    let answer = move |_: &_| match shared.load(Ordering::Relaxed) {
        true => good(),
        false => Reply::new().write(raw(503, BUSY)),
    };
    (replay(answer).await, healed)
}

async fn router(engines: &[&ReplayServer], flags: &str) -> Plimsoll {
    let urls: Vec<_> = engines.iter().map(|engine| engine.url()).collect();
    let line = format!("--worker-urls {} {IN_TURN} {QUICK} {flags}", urls.join(" "));
    let router = Plimsoll::start(&line).await;
    all_up(&router, engines.len() as u64).await;
    router
}

/// Clients get 200 so often, whoever answers.
async fn served(router: &Plimsoll, count: usize) {
    for _ in 0..count {
        let answer = router.post(CHAT, chat("")).send().await;
        assert_eq!((answer.status, &*answer.text()), (200, super::ANSWER));
    }
}

#[tokio::test]
async fn an_open_breaker_keeps_traffic_away() {
    bounded(async {
        let ((bad, _), well) = (ailing().await, replay(|_| good()).await);
        let flags = "--cb-failure-threshold 3 --cb-timeout-duration-secs 3600";
        let router = router(&[&bad, &well], flags).await;
        served(&router, 12).await;
        let page = router.settled(12).await;
        assert_eq!((posts(&bad).len(), posts(&well).len()), (3, 12));
        assert_eq!((breaker(&page, &bad.url()), breaker(&page, &well.url())), (1, 0));
        let eligible = |engine: &ReplayServer| {
            page.count("plimsoll_worker_eligible", &[("worker", &engine.url())])
        };
        assert_eq!((eligible(&bad), eligible(&well)), (0, 1));
        assert_eq!(page.count("plimsoll_worker_up", &[("worker", &bad.url())]), 1);
        assert_eq!(attempts(&page, &bad.url(), "status_5xx"), 3);
        assert_eq!(retries(&page, "status_5xx"), 3);
        assert_eq!(page.outcomes("complete"), 12);
        let listing = router.get("/workers").send().await.text();
        assert!(listing.contains("its breaker is open after 3 failures"), "{listing}");
    })
    .await;
}

#[tokio::test]
async fn a_trial_opens_or_closes_it() {
    bounded(async {
        let ((bad, healed), well) = (ailing().await, replay(|_| good()).await);
        let flags = "--cb-failure-threshold 2 --cb-timeout-duration-secs 1";
        let router = router(&[&bad, &well], flags).await;
        let state = |page: &Page| breaker(page, &bad.url());
        while state(&router.page().await) != 1 {
            served(&router, 1).await;
        }
        assert_eq!(posts(&bad).len(), 2);
        router.page_when(|page| state(page) == 2).await;
        // Half-open: one request tells, and it fails.
        while posts(&bad).len() == 2 {
            served(&router, 1).await;
        }
        assert_eq!((state(&router.page().await), posts(&bad).len()), (1, 3));
        healed.store(true, Ordering::Relaxed);
        router.page_when(|page| state(page) == 2).await;
        while posts(&bad).len() == 3 {
            served(&router, 1).await;
        }
        router.page_when(|page| state(page) == 0).await;
        served(&router, 4).await;
        assert_eq!(posts(&bad).len(), 6, "every second request is its own again");
    })
    .await;
}

#[tokio::test]
async fn a_probe_closes_it() {
    bounded(async {
        let (bad, well) = (sim(SimConfig::default()).await, sim(SimConfig::default()).await);
        let flags = "--policy round_robin --cb-failure-threshold 2 --cb-timeout-duration-secs 3600 \
                     --health-check-interval-secs 1 --health-failure-threshold 1000";
        let line = format!("--worker-urls {} {} {flags} {QUICK}", bad.url(), well.url());
        let router = Plimsoll::start(&line).await;
        all_up(&router, 2).await;
        let body = bytes::Bytes::from_static(BUSY.as_bytes());
        bad.faults().push(Fault::always(FaultAction::Status { code: 500, headers: vec![], body }));
        bad.faults().set_unhealthy(true);
        let state = |page: &Page| breaker(page, &bad.url());
        // A probe on its way may close it once more.
        while state(&router.page().await) == 0 {
            assert_eq!(router.post(CHAT, chat("")).send().await.status, 200);
        }
        bad.faults().clear();
        router.page_when(|page| state(page) == 0).await;
        let before = bad.totals().finished;
        for _ in 0..2 {
            assert_eq!(router.post(CHAT, chat("")).send().await.status, 200);
        }
        assert_eq!(bad.totals().finished, before + 1);
    })
    .await;
}

#[tokio::test]
async fn what_clients_do_wrong_does_not_open_it() {
    bounded(async {
        for status in [400, 404, 422, 429] {
            let engine = replay(move |_| Reply::new().write(raw(status, BUSY))).await;
            let router = router(&[&engine], "--cb-failure-threshold 1").await;
            for _ in 0..3 {
                assert_eq!(router.post(CHAT, chat("")).send().await.status, status);
            }
            let page = router.settled(3).await;
            assert_eq!(breaker(&page, &engine.url()), 0);
            assert_eq!(page.count("plimsoll_worker_eligible", &[]), 1);
            assert_eq!(attempts(&page, &engine.url(), "status_4xx"), 3);
        }
    })
    .await;
}

/// Clients that leave are nobody's failure either.
#[tokio::test]
async fn those_who_leave_do_not_open_it() {
    bounded(async {
        let engine = replay(|_| silent()).await;
        let router = router(&[&engine], "--cb-failure-threshold 1").await;
        for index in 1..=3 {
            let client = router.post(CHAT, chat("")).open().await;
            // A probe is in flight too, now and then: what the engine has got tells.
            eventually(async || match posts(&engine).len() {
                seen if seen == index => Ok(()),
                seen => Err(format!("{seen} requests have come, not {index}")),
            })
            .await;
            drop(client);
            engine.wait_closed(index).await;
        }
        let page = router.settled(3).await;
        assert_eq!((breaker(&page, &engine.url()), page.outcomes("client_disconnect")), (0, 3));
    })
    .await;
}

/// The breaker is that of the worker that failed, and readiness says which role is missing.
#[tokio::test]
async fn a_leg_opens_its_own_breaker() {
    bounded(async {
        for broken in ["decode", "prefill"] {
            let bad = |_: &_| Reply::new().then(super::SOON).write(raw(500, BUSY));
            let flags =
                format!("{IN_TURN} --cb-failure-threshold 2 --cb-timeout-duration-secs 3600");
            let pair = match broken {
                "decode" => Pair::start(&flags, |_| good(), bad).await,
                _ => Pair::start(&flags, bad, |_| silent()).await,
            };
            for _ in 0..2 {
                let answer = pair.router.post(CHAT, chat("")).send().await;
                assert_eq!((answer.status, &*answer.text()), (500, BUSY));
            }
            let page = pair.router.settled(2).await;
            let state = |role| page.count("plimsoll_worker_breaker_state", &[("role", role)]);
            let whole = if broken == "decode" { "prefill" } else { "decode" };
            assert_eq!((state(broken), state(whole)), (1, 0), "{broken}: {page}");
            let ready = pair.router.get("/readiness").send().await;
            assert_eq!((ready.status, &ready.json()["missing"]), (503, &broken.into()));
            // Nothing is sent to the one that would wait for the other.
            let answer = pair.router.post(CHAT, chat("")).send().await;
            assert_eq!(answer.status, 503);
            assert!(answer.error().contains(broken), "{}", answer.text());
            assert_eq!((posts(&pair.prefill).len(), posts(&pair.decode).len()), (2, 2));
            assert_eq!(pair.router.settled(3).await.outcomes("rejected"), 1);
        }
    })
    .await;
}
