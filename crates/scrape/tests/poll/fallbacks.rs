//! What SGLang says where its page says nothing.

use plimsoll_scrape::Source;

use super::*;

const LOADS: &str = r#"{"version":"0.5.23","loads":[{"dp_rank":0,"num_running_reqs":1,
    "num_used_tokens":512,"max_total_num_tokens":4096,"queues":{"waiting":3},"num_waiting_reqs":9,
    "disaggregation":{"decode_prealloc_queue_reqs":4,"decode_transfer_queue_reqs":2}}]}"#;
const IDLE: &str = r#"{"loads":[{"dp_rank":0,"num_used_tokens":0,"token_usage":0.0,"max_total_num_tokens":4096}]}"#;
const INFO: &str =
    r#"{"version":"0.5.23","tp_size":4,"dp_size":2,"max_total_num_tokens":4096,"api_key":"k1"}"#;

#[tokio::test]
async fn without_a_page_the_loads_are_read() {
    let engine = Engine::start().await;
    engine.page("/v1/loads", LOADS);
    let scraper = watching(&engine);
    let worker = until_state(&scraper, State::Disabled).await;
    let reading = worker.reading.as_ref().unwrap();
    assert_eq!((reading.capacity(), reading.used()), (Some(4096.0), Some(512.0)));
    assert_eq!(reading.queued, [Some(3.0), None, None, Some(4.0), Some(2.0)]);
    assert_eq!((&*worker.sources, reading.state), (&[Source::Loads][..], State::Disabled));
    assert_eq!(worker.identity.engine, Some("sglang"));
    assert_eq!(worker.identity.version.as_deref(), Some("0.5.23"));
}

#[tokio::test]
async fn what_is_not_there_is_asked_ever_less() {
    let engine = Engine::start().await;
    let scraper = watching(&engine);
    let seen = |snapshot: &Snapshot| scrapes(&snapshot.workers[0], State::Disabled) >= 5;
    let worker = Arc::clone(&until(&scraper, seen).await.workers[0]);
    assert!(worker.reading.is_none() && worker.sources.is_empty());
    for path in ["/v1/loads", "/get_load", "/get_server_info", "/server_info", "/v1/models"] {
        assert_eq!(engine.asked(path), 1, "{path}");
    }
}

#[tokio::test]
async fn before_the_first_batch_zeros_are_not_believed() {
    let engine = Engine::start().await;
    engine.page("/metrics", BEFORE);
    engine.page("/v1/loads", IDLE);
    let scraper = watching(&engine);
    let seen = |snapshot: &Snapshot| scrapes(&snapshot.workers[0], State::CapacityOnly) >= 2;
    let worker = Arc::clone(&until(&scraper, seen).await.workers[0]);
    let reading = worker.reading.as_ref().unwrap();
    assert_eq!((reading.capacity(), reading.used()), (Some(4096.0), None));
    assert_eq!(worker.sources, [Source::Metrics]);
    // Something runs, and the page does not say so yet.
    engine.page("/v1/loads", LOADS);
    let used = |snapshot: &Snapshot| snapshot.workers[0].reading.as_ref().and_then(|it| it.used());
    let snapshot = until(&scraper, |snapshot| used(snapshot) == Some(512.0)).await;
    assert_eq!(snapshot.workers[0].state, State::CapacityOnly);
    assert_eq!(snapshot.workers[0].sources, [Source::Metrics, Source::Loads]);
    // It is idle again: now its zeros mean something.
    engine.page("/v1/loads", IDLE);
    until(&scraper, |snapshot| used(snapshot) == Some(0.0)).await;
}

#[tokio::test]
async fn server_info_says_what_all_ranks_hold() {
    let engine = Engine::start().await;
    engine.page("/get_server_info", INFO);
    let scraper = watching(&engine);
    let worker = until_state(&scraper, State::Disabled).await;
    let reading = worker.reading.as_ref().unwrap();
    assert_eq!((reading.capacity(), reading.used()), (Some(8192.0), None));
    assert_eq!(worker.sources, [Source::ServerInfo]);
    let identity = &worker.identity;
    assert_eq!((identity.tensor_ranks, identity.data_ranks), (Some(4), Some(2)));
    engine.page("/get_load", r#"{"load": 100}"#);
    let from = |snapshot: &Snapshot| snapshot.workers[0].sources.contains(&Source::GetLoad);
    let snapshot = until(&scraper, from).await;
    let reading = snapshot.workers[0].reading.as_ref().unwrap();
    assert_eq!((reading.capacity(), reading.used()), (Some(8192.0), Some(100.0)));
    assert_eq!(engine.asked("/get_server_info"), 1, "it is remembered");
}

#[tokio::test]
async fn ranks_on_one_page_are_known_to_be_several() {
    let engine = Engine::start().await;
    engine.page("/metrics", "sglang:num_used_tokens{engine_type=\"unified\"} 12\n");
    engine.page("/get_server_info", INFO);
    let worker = until_state(&watching(&engine), State::Partial).await;
    let reading = worker.reading.as_ref().unwrap();
    assert_eq!((reading.capacity(), reading.used()), (Some(8192.0), None));
    assert_eq!(worker.sources, [Source::Metrics, Source::ServerInfo]);
}

/// SGLang 0.4.7 to 0.4.9: the page is that of any rank, and `/get_load` that of the first.
#[tokio::test]
async fn a_rank_that_is_known_is_not_added_to_one_that_may_be_any() {
    let engine = Engine::start().await;
    let page = "sglang:num_used_tokens{engine_type=\"unified\"} 12\n\
                sglang:num_running_reqs{engine_type=\"unified\"} 3\n";
    engine.page("/metrics", page);
    engine.page("/get_server_info", INFO);
    engine.page("/get_load", r#"{"load": 100}"#);
    let worker = until_state(&watching(&engine), State::Partial).await;
    let reading = worker.reading.as_ref().unwrap();
    assert_eq!((reading.capacity(), reading.used()), (Some(8192.0), Some(100.0)));
    assert_eq!((reading.usage_ratio(), reading.running), (Some(100.0 / 4096.0), None));
    assert_eq!(worker.sources, [Source::Metrics, Source::ServerInfo, Source::GetLoad]);
}

#[tokio::test]
async fn an_endpoint_that_hangs_does_not_put_off_the_other() {
    let engine = Engine::start().await;
    engine.page("/metrics", BEFORE);
    engine.answer("/v1/loads", Answer::Hang);
    engine.page("/get_load", r#"{"load": 100}"#);
    let from = |snapshot: &Snapshot| snapshot.workers[0].sources.contains(&Source::GetLoad);
    until(&watching(&engine), from).await;
}

#[tokio::test]
async fn a_slow_account_does_not_hold_readings_up() {
    let engine = Engine::start().await;
    engine.page("/metrics", AFTER);
    engine.answer("/get_server_info", Answer::Hang);
    let scraper = watching(&engine);
    let seen = |snapshot: &Snapshot| scrapes(&snapshot.workers[0], State::Ok) >= 5;
    let snapshot = until(&scraper, seen).await;
    let took = snapshot.workers[0].scrape_duration.expect("a time");
    assert!(took < config().timeout, "it took {took:?}");
    assert_eq!(engine.asked("/get_server_info"), 1);
}
