//! `SIGHUP` reads the file of `--config` anew: workers come and go by it.

use plimsoll_sim::{SimConfig, SimEngine};

use super::{CHAT, all_up};
use crate::support::{Folder, Page, Plimsoll, bounded, chat, sim};

const FILE: &str = "plimsoll.toml";

fn urls(engines: &[&SimEngine]) -> String {
    let urls: Vec<_> = engines.iter().map(|engine| format!("\"{}\"", engine.url())).collect();
    format!("worker-urls = [{}]\npolicy = \"round_robin\"\n", urls.join(", "))
}

async fn three() -> [SimEngine; 3] {
    let one = || sim(SimConfig::default());
    [one().await, one().await, one().await]
}

#[tokio::test]
async fn workers_follow_the_file() {
    bounded(async {
        let engines = three().await;
        let [stays, goes, comes] = &engines;
        let folder = Folder::new();
        let file = folder.put(FILE, &urls(&[stays, goes]));
        let router = Plimsoll::start(&format!("--config {file}")).await;
        all_up(&router, 2).await;

        folder.put(FILE, &urls(&[stays, comes]));
        router.signal("HUP").await;
        let shows = |page: &Page, engine: &SimEngine| page.to_string().contains(&engine.url());
        router.page_when(|page| !shows(page, goes) && shows(page, comes)).await;
        all_up(&router, 2).await;
        for _ in 0..4 {
            assert_eq!(router.post(CHAT, chat("")).send().await.status, 200);
        }
        let served = engines.each_ref().map(|engine| engine.totals().finished);
        assert_eq!(served, [2, 0, 2]);
        let page = router.settled(4).await;
        assert!(shows(&page, stays) && !shows(&page, goes));
    })
    .await;
}

#[tokio::test]
async fn a_wrong_file_changes_nothing() {
    bounded(async {
        let (first, second) = (sim(SimConfig::default()).await, sim(SimConfig::default()).await);
        let folder = Folder::new();
        let file = folder.put(FILE, &urls(&[&first]));
        let mut router = Plimsoll::start(&format!("--config {file}")).await;
        for (wrong, told) in [
            ("worker-urls = [", ":1"),
            ("worker-urls = [\"ftp://x\"]\n", "http"),
            ("worker-urlz = []\n", "worker-urlz"),
            ("", "--worker-urls"),
        ] {
            let before = router.log().len();
            folder.put(FILE, wrong);
            router.signal("HUP").await;
            let log = crate::support::eventually(async || {
                let log = router.log()[before..].to_owned();
                if log.contains("stays as it was") { Ok(log) } else { Err(log) }
            })
            .await;
            assert!(log.contains(told), "{wrong}: {log}");
            assert!(router.runs());
            assert_eq!(router.post(CHAT, chat("")).send().await.status, 200, "{wrong}");
            let page = router.page().await;
            assert_eq!(page.count("plimsoll_worker_eligible", &[]), 1);
        }
        folder.put(FILE, &urls(&[&first, &second]));
        router.signal("HUP").await;
        all_up(&router, 2).await;
    })
    .await;
}

/// What reads its KV cache must hear of that, too.
#[tokio::test]
async fn a_worker_may_change_its_role() {
    bounded(async {
        let engines = three().await;
        let [prefill, decode, turns] = engines.each_ref().map(SimEngine::url);
        let pair = |prefill: &str, decode: &str| {
            format!("pd-disaggregation = true\nprefill = [{prefill}]\ndecode = [{decode}]\n")
        };
        let before = pair(&format!("'{prefill}', '{turns}'"), &format!("'{decode}'"));
        let after = pair(&format!("'{prefill}'"), &format!("'{decode}', '{turns}'"));
        let folder = Folder::new();
        let file = folder.put(FILE, &before);
        let router = Plimsoll::start(&format!("--config {file}")).await;
        let reads = |page: &Page, role: &str| {
            let labels = [("worker", &*turns), ("role", role)];
            page.sum("plimsoll_worker_kv_capacity_tokens", &labels) > 0.0
        };
        router.page_when(|page| reads(page, "prefill")).await;
        folder.put(FILE, &after);
        router.signal("HUP").await;
        router.page_when(|page| reads(page, "decode") && !reads(page, "prefill")).await;
    })
    .await;
}

/// A worker that is to go ends what it has begun.
#[tokio::test]
async fn a_stream_outlives_its_workers_line() {
    bounded(async {
        let slow = SimConfig::default().token_interval(std::time::Duration::from_millis(25));
        let (goes, comes) = (sim(slow).await, sim(SimConfig::default()).await);
        let folder = Folder::new();
        let file = folder.put(FILE, &urls(&[&goes]));
        let router = Plimsoll::start(&format!("--config {file}")).await;
        let body = chat(",\"stream\":true,\"max_tokens\":60,\"ignore_eos\":true");
        let mut client = router.post(CHAT, body).open().await;
        client.until("\"content\":\"").await;
        folder.put(FILE, &urls(&[&comes]));
        router.signal("HUP").await;
        let eligible =
            |url: String, page: &Page| page.count("plimsoll_worker_eligible", &[("worker", &url)]);
        router
            .page_when(|page| (eligible(goes.url(), page), eligible(comes.url(), page)) == (0, 1))
            .await;
        assert_eq!(router.post(CHAT, chat("")).send().await.status, 200);
        assert_eq!((goes.totals().requests, comes.totals().requests), (1, 1));
        assert!(client.rest().await.text().ends_with("data: [DONE]\n\n"));
        router.page_when(|page| !page.to_string().contains(&goes.url())).await;
        assert_eq!(router.settled(2).await.outcomes("complete"), 2);
    })
    .await;
}

/// A file that is taken back while its worker ends what it has begun: the worker comes again.
#[tokio::test]
async fn a_worker_comes_back_once_it_has_gone() {
    bounded(async {
        let slow = SimConfig::default().token_interval(std::time::Duration::from_millis(20));
        let (back, stays) = (sim(slow).await, sim(SimConfig::default()).await);
        let folder = Folder::new();
        let file = folder.put(FILE, &urls(&[&back, &stays]));
        let router = Plimsoll::start(&format!("--config {file}")).await;
        all_up(&router, 2).await;
        let mut client;
        let body = chat(",\"stream\":true,\"max_tokens\":1000,\"ignore_eos\":true");
        loop {
            client = router.post(CHAT, body.clone()).open().await;
            client.until("\"content\":\"").await;
            if back.totals().open == 1 {
                break;
            }
        }
        folder.put(FILE, &urls(&[&stays]));
        router.signal("HUP").await;
        all_up(&router, 1).await;
        folder.put(FILE, &urls(&[&back, &stays]));
        router.signal("HUP").await;
        router.logged("a worker is left out").await;
        drop(client);
        router.page_when(|page| !page.to_string().contains(&back.url())).await;
        router.signal("HUP").await;
        all_up(&router, 2).await;
    })
    .await;
}

/// A worker that was added by hand, and then written down: it is the file's from then on.
#[tokio::test]
async fn a_worker_may_be_written_down_later() {
    bounded(async {
        let (first, added) = (sim(SimConfig::default()).await, sim(SimConfig::default()).await);
        let folder = Folder::new();
        let file = folder.put(FILE, &urls(&[&first]));
        let router = Plimsoll::start(&format!("--config {file}")).await;
        let worker = format!("{{\"url\":\"{}\",\"role\":\"plain\"}}", added.url());
        assert_eq!(router.post("/workers", worker).send().await.status, 201);
        all_up(&router, 2).await;
        folder.put(FILE, &urls(&[&first, &added]));
        router.signal("HUP").await;
        router.logged("workers changed: 0").await;
        folder.put(FILE, &urls(&[&first]));
        router.signal("HUP").await;
        router.logged("workers changed: 1").await;
        all_up(&router, 1).await;
        assert!(!router.log().contains("left out"), "{}", router.log());
    })
    .await;
}
