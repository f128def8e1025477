//! Where pages come from.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use super::*;

#[tokio::test]
async fn a_page_may_be_compressed() {
    let engine = Engine::start().await;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(AFTER.as_bytes()).unwrap();
    let body = encoder.finish().unwrap();
    let head = "content-encoding: gzip\r\n".to_owned();
    engine.answer("/metrics", Answer::Full("200 OK", head, body));
    until_state(&watching(&engine), State::Ok).await;
}

#[tokio::test]
async fn a_bomb_is_no_page() {
    let engine = Engine::start().await;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&vec![b'\n'; 17 << 20]).unwrap();
    let head = "content-encoding: gzip\r\n".to_owned();
    engine.answer("/metrics", Answer::Full("200 OK", head, encoder.finish().unwrap()));
    let scraper = Scraper::new(ScrapeConfig { timeout: Duration::from_secs(5), ..config() });
    scraper.watch(target(&engine));
    until_state(&scraper, State::Malformed).await;
}

#[tokio::test]
async fn redirects_stay_on_their_host() {
    let (engine, other) = (Engine::start().await, Engine::start().await);
    engine.page("/metrics/", AFTER);
    other.page("/metrics/", AFTER);
    let to = |location: &str| {
        Answer::Full("307 Temporary Redirect", format!("location: {location}\r\n"), Vec::new())
    };
    engine.answer("/metrics", to("/metrics/"));
    let scraper = watching(&engine);
    until_state(&scraper, State::Ok).await;
    engine.answer("/metrics", to(&format!("{}/metrics/", other.url)));
    until_state(&scraper, State::Malformed).await;
    assert_eq!(other.asked("/metrics/"), 0);
    engine.answer("/metrics", to("/metrics"));
    let before = scrapes(&scraper.snapshot().workers[0], State::Malformed);
    until(&scraper, |it| scrapes(&it.workers[0], State::Malformed) > before + 1).await;
}

#[tokio::test]
async fn the_nodes_of_one_worker_are_one() {
    let (first, second) = (Engine::start().await, Engine::start().await);
    let page = |rank: u32, used: u32| {
        format!(
            "sglang:max_total_num_tokens{{dp_rank=\"{rank}\"}} 1000\n\
             sglang:kv_used_tokens{{dp_rank=\"{rank}\"}} {used}\n"
        )
    };
    first.page("/metrics", page(0, 100));
    second.page("/metrics", page(1, 500));
    let third = Engine::start().await;
    let metrics_urls = [&first, &second, &third].map(|node| format!("{}/metrics", node.url));
    let scraper = Scraper::new(config());
    scraper.watch(Target { metrics_urls: metrics_urls.to_vec(), ..target(&first) });
    let worker = until_state(&scraper, State::Ok).await;
    let reading = worker.reading.as_ref().unwrap();
    assert_eq!((reading.capacity(), reading.used()), (Some(2000.0), Some(600.0)));
    assert_eq!((reading.pools.len(), worker.identity.data_ranks), (2, Some(2)));
}

#[tokio::test]
async fn a_node_that_fails_takes_no_count_back() {
    let (first, second) = (Engine::start().await, Engine::start().await);
    let page = |rank: u32, preempted: u32| {
        format!(
            "sglang:kv_used_tokens{{dp_rank=\"{rank}\"}} 100\n\
             sglang:num_retracted_requests_total{{dp_rank=\"{rank}\"}} {preempted}\n"
        )
    };
    first.page("/metrics", page(0, 3));
    second.page("/metrics", page(1, 40));
    let metrics_urls = [&first, &second].map(|node| format!("{}/metrics", node.url));
    let scraper = Scraper::new(config());
    scraper.watch(Target { metrics_urls: metrics_urls.to_vec(), ..target(&first) });
    let ranks = |snapshot: &Snapshot, wanted| {
        let pools = snapshot.workers[0].reading.as_ref().map(|reading| reading.pools.len());
        (pools == Some(wanted)).then(|| snapshot.workers[0].trends.preemptions)
    };
    until(&scraper, |it| ranks(it, 2) == Some(Some(43.0))).await;
    let down = Answer::Full("503 Service Unavailable", String::new(), Vec::new());
    second.answer("/metrics", down);
    let snapshot = until(&scraper, |it| ranks(it, 1).is_some()).await;
    assert_eq!(snapshot.workers[0].trends.preemptions, Some(43.0));
}

#[tokio::test]
async fn json_at_the_usual_place_means_another_place() {
    let engine = Engine::start().await;
    engine.page("/metrics", "[{\"kvCacheStats\":{\"usedNumBlocks\":1}}]");
    let scraper = watching(&engine);
    until_state(&scraper, State::Disabled).await;
    engine.page("/prometheus/metrics", "trtllm_kv_cache_utilization{engine_type=\"trtllm\"} 0.5\n");
    let worker = until_state(&scraper, State::Ok).await;
    assert_eq!(worker.identity.engine, Some("trtllm"));
    let asked = engine.asked("/metrics");
    let ok = scrapes(&worker, State::Ok);
    until(&scraper, |snapshot| scrapes(&snapshot.workers[0], State::Ok) >= ok + 2).await;
    assert_eq!(engine.asked("/metrics"), asked, "its place is known");
}

#[tokio::test]
async fn a_web_page_is_no_metrics_page() {
    let engine = Engine::start().await;
    engine.page("/metrics", "<!DOCTYPE html><title>hello</title>");
    until_state(&watching(&engine), State::Malformed).await;
}
