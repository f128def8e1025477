use std::fs;

use plimsoll_sim::SimConfig;

use super::CHAT;
use crate::support::{Log, Plimsoll, bounded, chat, sim};

const KEY: &str = "sk-secret-1";

#[tokio::test]
async fn tokens_are_charged_and_no_key_is_told() {
    bounded(async {
        let (log, engine) = (Log::new(), sim(SimConfig::default()).await);
        let line = format!(
            "--worker-urls {} {} --tenant-header x-team --tenant-max 2 --genai-metrics",
            engine.url(),
            log.flag()
        );
        let router = Plimsoll::start(&line).await;
        // The last one sends its key where its name should be.
        let teams = [Some("a"), Some("b"), Some("c"), Some("d"), None, Some(KEY)];
        for team in teams {
            let mut call = router.post(CHAT, chat(",\"max_tokens\":3"));
            if let Some(team) = team {
                call = call.header("x-team", team);
            }
            // Nor is a key the request's id.
            let call = call.header("x-request-id", KEY);
            call.header("authorization", &format!("Bearer {KEY}")).send().await;
        }
        let page = router.settled(6).await;
        for kind in ["prompt", "completion"] {
            let charged = |tenant| {
                page.count("plimsoll_tenant_tokens_total", &[("kind", kind), ("tenant", tenant)])
            };
            let total = page.count(&format!("plimsoll_{kind}_tokens_total"), &[]);
            let each = total / 6;
            let seen = ["a", "b", "other", "unknown"].map(charged);
            assert_eq!(seen, [each, each, 2 * each, 2 * each], "{page}");
            assert_eq!(page.count("plimsoll_tenant_tokens_total", &[("kind", kind)]), total);
        }
        let lines = log.wait(6).await;
        let named: Vec<_> = lines.iter().map(|line| line["tenant"].as_str()).collect();
        assert_eq!(named, [Some("a"), Some("b"), Some("c"), Some("d"), None, None]);
        let written = fs::read_to_string(log.path()).expect("the log");
        for told in [page.to_string(), written, router.log()] {
            assert!(!told.contains(KEY), "{told}");
        }
        let input = [("gen_ai_token_type", "input"), ("gen_ai_operation_name", "chat")];
        assert_eq!(page.count("gen_ai_client_token_usage_count", &input), 6);
    })
    .await;
}

#[tokio::test]
async fn without_the_header_there_are_no_tenants() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        router.post(CHAT, chat("")).header("x-team", "a").send().await;
        let page = router.settled(1).await.to_string();
        for name in ["plimsoll_tenant", "gen_ai_", "plimsoll_usage_log"] {
            assert!(!page.contains(name), "{name}");
        }
    })
    .await;
}
