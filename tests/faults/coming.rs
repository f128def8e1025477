//! Workers that are late, dead or back again.

use std::{net::SocketAddr, time::Duration};

use plimsoll_sim::{Role, SimConfig, SimEngine, replay::ReplayServer};
use tokio::time::Instant;

use super::CHAT;
use crate::support::{Plimsoll, bounded, chat, eventually, sim};

/// One health interval, and time for the answer of a probe.
const JOINS_WITHIN: Duration = Duration::from_millis(2500);

const PROBES: &str = "--health-check-interval-secs 1 --health-failure-threshold 1";

/// An address where nobody listens.
async fn nowhere() -> SocketAddr {
    ReplayServer::start(|_| None).await.expect("a free loopback port").addr()
}

/// An engine at an address that another has just left.
async fn back(config: SimConfig) -> SimEngine {
    eventually(async || SimEngine::start(config.clone()).await.map_err(|error| error.to_string()))
        .await
}

/// The router answers so, at the latest within this time.
async fn within(limit: Duration, router: &Plimsoll, status: u16) {
    let since = Instant::now();
    eventually(async || match router.post(CHAT, chat("")).send().await.status {
        answer if answer == status => Ok(()),
        answer => Err(format!("it answers {answer}")),
    })
    .await;
    assert!(since.elapsed() < limit, "{:?}", since.elapsed());
}

#[tokio::test]
async fn one_of_two_is_dead() {
    bounded(async {
        let (dead, engine) = (nowhere().await, sim(SimConfig::default()).await);
        let line = format!("--worker-urls http://{dead} {} {PROBES}", engine.url());
        let router = Plimsoll::launch(&line).await;
        within(Duration::from_secs(1), &router, 200).await;
        for _ in 0..4 {
            assert_eq!(router.post(CHAT, chat("")).send().await.status, 200);
        }
        let page = router.page().await;
        let up = |url: String| page.count("plimsoll_worker_up", &[("worker", &url)]);
        assert_eq!((up(format!("http://{dead}")), up(engine.url())), (0, 1));
        let _late = back(SimConfig::default().addr(dead)).await;
        let since = Instant::now();
        super::all_up(&router, 2).await;
        assert!(since.elapsed() < JOINS_WITHIN, "{:?}", since.elapsed());
    })
    .await;
}

/// One decode is dead, the other full of work: requests wait for it.
#[tokio::test]
async fn one_is_dead_and_one_is_full() {
    bounded(async {
        let interval = Duration::from_millis(20);
        let config = SimConfig::default().token_interval(interval);
        let prefill = sim(config.clone().role(Role::Prefill)).await;
        let decode = sim(config.role(Role::Decode)).await;
        let (dead, port) = (nowhere().await, prefill.bootstrap_port().expect("a port"));
        let line = format!(
            "--pd-disaggregation --prefill {} {port} --decode http://{dead} --decode {} {PROBES} \
             --decode-max-in-flight 1",
            prefill.url(),
            decode.url()
        );
        let router = Plimsoll::start(&line).await;
        let ask = || router.post(CHAT, chat(",\"max_tokens\":10")).send();
        let (first, second, third) = tokio::join!(ask(), ask(), ask());
        assert_eq!([first.status, second.status, third.status], [200; 3]);
        assert_eq!(router.settled(3).await.outcomes("complete"), 3);
    })
    .await;
}

#[tokio::test]
async fn a_pair_dies_and_comes_back() {
    bounded(async {
        let prefill = sim(SimConfig::default().role(Role::Prefill)).await;
        let decode = sim(SimConfig::default().role(Role::Decode)).await;
        let port = prefill.bootstrap_port().expect("a bootstrap port");
        let line = format!(
            "--pd-disaggregation --prefill {} {port} --decode {} {PROBES}",
            prefill.url(),
            decode.url()
        );
        let router = Plimsoll::start(&line).await;
        let mut engines = [
            (Some(prefill), SimConfig::default().role(Role::Prefill).bootstrap_port(port)),
            (Some(decode), SimConfig::default().role(Role::Decode)),
        ];
        for index in [0, 1] {
            let (engine, config) = &mut engines[index];
            let engine = engine.take().expect("an engine");
            let (addr, role) = (engine.addr(), config.role);
            engine.shutdown().await;
            within(JOINS_WITHIN, &router, 503).await;
            let ready = router.get("/readiness").send().await;
            assert_eq!((ready.status, &ready.json()["missing"]), (503, &role.as_str().into()));
            let engine = back(config.clone().addr(addr)).await;
            within(JOINS_WITHIN, &router, 200).await;
            engines[index].0 = Some(engine);
        }
        let page = router.page_when(|page| page.count("plimsoll_worker_in_flight", &[]) == 0).await;
        assert_eq!(page.count("plimsoll_worker_breaker_state", &[]), 0, "{page}");
    })
    .await;
}
