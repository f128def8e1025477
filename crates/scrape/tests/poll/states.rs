//! How a reading went.

use http::HeaderValue;

use super::*;

#[tokio::test]
async fn a_first_batch_makes_it_whole() {
    let engine = Engine::start().await;
    engine.page("/metrics", BEFORE);
    engine.page("/v1/models", "{\"data\":[{\"id\":\"tiny\"},{\"id\":\"lora\"}]}");
    let scraper = watching(&engine);
    assert_eq!(scraper.snapshot().workers[0].state, State::Pending);
    let worker = until_state(&scraper, State::CapacityOnly).await;
    let reading = worker.reading.as_ref().unwrap();
    assert_eq!((reading.capacity(), reading.usage_ratio()), (Some(4096.0), None));
    assert_eq!(worker.model.as_deref(), Some("tiny"));
    engine.page("/metrics", AFTER);
    let worker = until_state(&scraper, State::Ok).await;
    let reading = worker.reading.as_ref().unwrap();
    assert_eq!((reading.used(), reading.usage_ratio()), (Some(1024.0), Some(0.25)));
    assert_eq!(worker.identity.engine, Some("sglang"));
    assert!(worker.scrape_duration.is_some() && scrapes(&worker, State::CapacityOnly) > 0);
}

#[tokio::test]
async fn an_empty_page_fills_without_a_restart() {
    let engine = Engine::start().await;
    engine.page("/metrics", "");
    let scraper = watching(&engine);
    until(&scraper, |snapshot| scrapes(&snapshot.workers[0], State::Empty) >= 2).await;
    engine.page("/metrics", AFTER);
    until_state(&scraper, State::Ok).await;
}

#[tokio::test]
async fn a_key_opens_the_page() {
    let engine = Engine::start().await;
    engine.answer("/metrics", Answer::Keyed("Bearer k1\r\n", AFTER.into()));
    let without = watching(&engine);
    let worker = until_state(&without, State::Unauthorized).await;
    assert!(worker.reading.is_none());
    let authorization = Some(HeaderValue::from_static("Bearer k1"));
    let with = Scraper::new(ScrapeConfig { authorization, ..config() });
    with.watch(target(&engine));
    until_state(&with, State::Ok).await;
    assert!(!format!("{with:?}").contains("k1"), "the key is in no text");
}

#[tokio::test]
async fn a_hung_worker_leaves_when_its_reading_is_old() {
    let (a, b) = (Engine::start().await, Engine::start().await);
    a.page("/metrics", AFTER);
    b.page("/metrics", AFTER);
    let scraper = watching(&a);
    scraper.watch(target(&b));
    let all_ok = |snapshot: &Snapshot| snapshot.workers.iter().all(|it| it.state == State::Ok);
    until(&scraper, all_ok).await;
    a.answer("/metrics", Answer::Hang);
    let failed = |snapshot: &Snapshot| scrapes(&snapshot.workers[0], State::Timeout) > 0;
    let snapshot = until(&scraper, failed).await;
    assert_eq!(snapshot.workers[0].state, State::Ok, "its reading is young yet");
    let snapshot = until(&scraper, |it| it.workers[0].state == State::Timeout).await;
    assert!(snapshot.workers[0].reading.is_none() && snapshot.workers[0].read_at.is_some());
    assert!(snapshot.workers[1].reading.is_some() && snapshot.workers[1].state == State::Ok);
    a.page("/metrics", AFTER);
    until(&scraper, all_ok).await;
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let worker = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let scraper = Scraper::new(config());
    scraper.watch(at(&worker));
    until_state(&scraper, State::Unreachable).await;
}

#[tokio::test]
async fn what_is_forgotten_is_gone_at_once_and_asked_no_more() {
    let (a, b) = (Engine::start().await, Engine::start().await);
    a.page("/metrics", AFTER);
    let scraper = watching(&a);
    scraper.watch(target(&b));
    until_state(&scraper, State::Ok).await;
    assert!(scraper.forget(&a.url) && !scraper.forget(&a.url));
    let workers = &scraper.snapshot().workers;
    assert_eq!(workers.iter().map(|it| &it.worker).collect::<Vec<_>>(), [&b.url]);
    let asked = a.asked("/metrics");
    until(&scraper, |snapshot| scrapes(&snapshot.workers[0], State::Disabled) >= 3).await;
    assert!(a.asked("/metrics") <= asked + 1, "one may have been under way");
}

#[tokio::test]
async fn it_may_come_back_as_another() {
    let engine = Engine::start().await;
    engine.page("/metrics", "vllm:kv_cache_usage_perc{engine=\"0\"} 0.5\n");
    engine.page("/version", "{\"version\":\"0.32.0\"}");
    engine.page("/v1/models", "{\"data\":[{\"id\":\"tiny\"}]}");
    let scraper = watching(&engine);
    let told = |snapshot: &Snapshot| {
        let worker = &snapshot.workers[0];
        (worker.identity.version.clone(), worker.model.is_some())
    };
    until(&scraper, |it| told(it) == (Some("0.32.0".to_owned()), true)).await;
    let down = Answer::Full("503 Service Unavailable", String::new(), Vec::new());
    engine.answer("/metrics", down);
    let worker = until_state(&scraper, State::Unreachable).await;
    assert!(worker.reading.is_none() && worker.model.is_some());
    engine.page("/metrics", AFTER);
    engine.page("/v1/models", "{\"data\":[{\"id\":\"other\"}]}");
    engine.page("/get_server_info", "{\"version\":\"0.5.23\",\"tp_size\":2}");
    until(&scraper, |it| told(it).0.as_deref() == Some("0.5.23")).await;
    let worker = until_state(&scraper, State::Ok).await;
    assert_eq!((worker.identity.engine, worker.model.as_deref()), (Some("sglang"), Some("other")));
}

#[tokio::test]
async fn who_is_not_what_was_given_is_told_apart() {
    let engine = Engine::start().await;
    engine.page("/metrics", AFTER);
    let says = |mode: &str, port: u16| {
        let info = format!(
            r#"{{"tp_size":1,"disaggregation_mode":"{mode}","disaggregation_bootstrap_port":{port}}}"#
        );
        engine.page("/get_server_info", info);
    };
    for (mode, port, role, given, wanted) in [
        ("prefill", 8998, Role::Prefill, Some(8998), ""),
        ("prefill", 9001, Role::Prefill, Some(8998), "its bootstrap port is 9001, and 8998"),
        ("decode", 8998, Role::Prefill, Some(8998), "given as prefill and runs for decode"),
        ("decode", 8998, Role::Decode, None, ""),
        ("null", 8998, Role::Decode, None, "given as decode and hands no KV cache over"),
        ("null", 8998, Role::Plain, None, ""),
        ("unheard-of", 8998, Role::Plain, None, ""),
    ] {
        says(mode, port);
        let scraper = Scraper::new(config());
        let backend = Backend { url: Arc::clone(&engine.url), role, bootstrap_port: given };
        scraper.watch(Target { backend, metrics_urls: Vec::new() });
        until_state(&scraper, State::Ok).await;
        let report = scraper.snapshot().report(Instant::now());
        let hint = &report.workers[0].hint;
        assert!(hint.contains(wanted) && hint.is_empty() == wanted.is_empty(), "{mode}: {hint}");
        assert_eq!(report.workers[0].mismatch.is_none(), wanted.is_empty());
    }
}

#[tokio::test]
async fn workers_that_come_and_go_leave_nothing() {
    let engine = Engine::start().await;
    let scraper = watching(&engine);
    for number in 0..1000 {
        let worker = format!("{}/{number}", engine.url);
        scraper.watch(at(&worker));
        assert_eq!(scraper.snapshot().workers.len(), 2);
        assert!(scraper.forget(&worker));
    }
    assert_eq!(scraper.snapshot().workers.len(), 1);
    let runs = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    drop(scraper);
    while runs() > 1 {
        tokio::task::yield_now().await;
    }
}
