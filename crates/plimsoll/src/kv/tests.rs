//! Looks at simulated engines, and at what a router would answer.

use std::{convert::Infallible, future::ready};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use plimsoll_scrape::Report;
use plimsoll_sim::{SimConfig, SimEngine};
use plimsoll_wire::{Engine, Role};
use tokio::net::TcpListener;

use super::look::Looker;
use crate::{
    flags::{self, Command, Kv},
    upstream::Upstream,
};

fn kv(targets: &[&str]) -> Kv {
    let words = ["kv"].iter().chain(targets).map(Into::into);
    match flags::parse(words, []) {
        Ok(Command::Kv(kv)) => kv,
        other => panic!("{other:?}"),
    }
}

async fn engine(config: SimConfig) -> SimEngine {
    SimEngine::start(config.addr("127.0.0.1:0".parse().unwrap())).await.unwrap()
}

fn shown(report: &Report) -> Vec<(&str, &str, &str)> {
    report.workers.iter().map(|it| (it.worker.as_str(), &*it.role, &*it.state)).collect()
}

/// Answers every request with `body`, and says where.
async fn answering(body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let body = Bytes::from(body.clone());
            let service = service_fn(move |_| {
                ready(Ok::<_, Infallible>(Response::new(Full::new(body.clone()))))
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
        }
    });
    url
}

#[tokio::test]
async fn engines_tell_their_roles_and_come_in_the_order_of_the_targets() {
    let decode = engine(SimConfig::default().role(Role::Decode)).await;
    let plain = engine(SimConfig::default().role(Role::Plain).metrics(false)).await;
    let (decode_url, plain_url) = (decode.url().to_string(), plain.url().to_string());
    let mut looker = Looker::new(&kv(&[&plain_url, &decode_url, &plain_url]), &Upstream::default());
    let (report, is_complete) = looker.look().await;
    let want = [
        (plain_url.as_str(), "plain", "disabled"),
        (decode_url.as_str(), "decode", "capacity_only"),
    ];
    assert_eq!(shown(&report), want);
    assert!(is_complete);
}

#[tokio::test]
async fn a_vllm_engine_is_read_as_one() {
    let config = SimConfig { engine: Engine::Vllm, dp: 2, ..SimConfig::default() };
    let engine = engine(config.capacity_tokens(4096)).await;
    let (report, _) = Looker::new(&kv(&[&engine.url()]), &Upstream::default()).look().await;
    let worker = &report.workers[0];
    assert_eq!(
        (worker.engine.as_deref(), worker.version.as_deref()),
        (Some("vllm"), Some("0.32.0"))
    );
    let plain = SimConfig { engine: Engine::Vllm, ..SimConfig::default() };
    let plain = self::engine(plain.capacity_tokens(4096)).await;
    let (report, is_complete) =
        Looker::new(&kv(&[&plain.url()]), &Upstream::default()).look().await;
    let load = &report.workers[0].load;
    assert_eq!((load.capacity_tokens, load.used_tokens), (Some(4096), Some(0)));
    assert_eq!((load.running_requests, load.queued_requests), (Some(0), Some(0)));
    assert_eq!(shown(&report), [(plain.url().as_str(), "plain", "ok")]);
    assert!(is_complete);
}

#[tokio::test]
async fn one_that_is_not_there_makes_the_look_incomplete() {
    let prefill = engine(SimConfig::default().role(Role::Prefill)).await;
    let url = prefill.url().to_string();
    let (report, is_complete) =
        Looker::new(&kv(&[&url, "127.0.0.1:1"]), &Upstream::default()).look().await;
    let want = [
        (url.as_str(), "prefill", "capacity_only"),
        ("http://127.0.0.1:1", "plain", "unreachable"),
    ];
    assert_eq!(shown(&report), want);
    assert!(!is_complete);
}

#[tokio::test]
async fn a_router_is_asked_for_its_workers() {
    let prefill = engine(SimConfig::default().role(Role::Prefill)).await;
    let url = prefill.url().to_string();
    let (report, _) = Looker::new(&kv(&[&url]), &Upstream::default()).look().await;
    let router = answering(serde_json::to_string(&report).unwrap()).await;
    assert_eq!(Looker::new(&kv(&[&router]), &Upstream::default()).look().await, (report, true));
    let empty = answering(serde_json::to_string(&Report::new(Vec::new())).unwrap()).await;
    assert_eq!(
        Looker::new(&kv(&[&empty]), &Upstream::default()).look().await,
        (Report::new(Vec::new()), false)
    );
}
