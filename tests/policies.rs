//! Which of two workers a policy chooses. How well each spreads a load is tested beside its code.

use std::time::Duration;

use plimsoll_sim::{SimConfig, SimEngine};

use crate::support::{Plimsoll, bounded, chat, sim};

const CHAT: &str = "/v1/chat/completions";

/// Two engines behind a router.
struct Two {
    router: Plimsoll,
    engines: [SimEngine; 2],
}

impl Two {
    async fn start(config: SimConfig, flags: &str) -> Self {
        let engines = [sim(config.clone()).await, sim(config).await];
        let urls = engines.each_ref().map(|engine| engine.url()).join(" ");
        let router = Plimsoll::start(&format!("--worker-urls {urls} {flags}")).await;
        router.page_when(|page| page.count("plimsoll_worker_eligible", &[]) == 2).await;
        Self { router, engines }
    }

    fn served(&self) -> [u64; 2] {
        self.engines.each_ref().map(|engine| engine.totals().requests)
    }

    /// The index of the one that a request went to.
    async fn chosen(&self, more: &str, session: Option<&str>) -> usize {
        let before = self.served();
        let mut call = self.router.post(CHAT, chat(&format!(",\"max_tokens\":1{more}")));
        if let Some(session) = session {
            call = call.header("X-Session-Id", session);
        }
        assert_eq!(call.send().await.status, 200);
        let after = self.served();
        assert_eq!(after.iter().sum::<u64>(), before.iter().sum::<u64>() + 1);
        usize::from(after[0] == before[0])
    }
}

#[tokio::test]
async fn round_robin_takes_turns() {
    bounded(async {
        let two = Two::start(SimConfig::default(), "--policy round_robin").await;
        let mut before = two.chosen("", None).await;
        for _ in 0..7 {
            let next = two.chosen("", None).await;
            assert_eq!(next, 1 - before);
            before = next;
        }
        assert_eq!(two.served(), [4, 4]);
    })
    .await;
}

#[tokio::test]
async fn consistent_hashing_keeps_to_the_session() {
    bounded(async {
        let two = Two::start(SimConfig::default(), "--policy consistent_hashing").await;
        for index in 0..16 {
            let session = format!("session-{index}");
            let by_header = two.chosen("", Some(&session)).await;
            assert_eq!(two.chosen(",\"seed\":1", Some(&session)).await, by_header);
            // The same word in the body means the same, and the header goes first.
            let user = format!(",\"user\":\"{session}\"");
            assert_eq!(two.chosen(&user, None).await, by_header);
            assert_eq!(two.chosen(",\"user\":\"other\"", Some(&session)).await, by_header);
        }
        assert!(two.served().iter().all(|&count| count > 0), "{:?}", two.served());
        // Without a session each has its turn.
        let first = two.chosen("", None).await;
        assert_eq!(two.chosen("", None).await, 1 - first);
    })
    .await;
}

#[tokio::test]
async fn a_session_moves_only_while_its_worker_is_gone() {
    bounded(async {
        let flags = "--policy consistent_hashing --health-check-interval-secs 1 \
                     --health-failure-threshold 1";
        let two = Two::start(SimConfig::default(), flags).await;
        let home = two.chosen("", Some("mine")).await;
        let eligible = async |count| {
            two.router.page_when(|page| page.count("plimsoll_worker_eligible", &[]) == count).await;
        };
        two.engines[home].faults().set_unhealthy(true);
        eligible(1).await;
        assert_eq!(two.chosen("", Some("mine")).await, 1 - home);
        two.engines[home].faults().clear();
        eligible(2).await;
        assert_eq!(two.chosen("", Some("mine")).await, home);
    })
    .await;
}

#[tokio::test]
async fn cache_aware_keeps_to_the_prompts_beginning() {
    bounded(async {
        let config = SimConfig::default().cache_report(true);
        let two = Two::start(config, "--policy cache_aware").await;
        let mut homes = Vec::new();
        for index in 0..6 {
            let told = format!("{index} once upon a time there was a router ").repeat(40);
            let ask = |turn: usize| {
                let mut messages = format!("[{{\"role\":\"user\",\"content\":\"{told}\"}}");
                for said in 0..turn {
                    messages += &format!(",{{\"role\":\"user\",\"content\":\"and then {said}?\"}}");
                }
                // The last of a member written twice stands.
                format!(",\"messages\":{messages}]")
            };
            let home = two.chosen(&ask(0), None).await;
            for turn in 1..4 {
                assert_eq!(two.chosen(&ask(turn), None).await, home, "{index}, {turn}");
            }
            homes.push(home);
        }
        assert!(homes.contains(&0) && homes.contains(&1), "new prompts spread: {homes:?}");
        let page = two.router.settled(24).await;
        let cached = page.sum("plimsoll_cached_prompt_tokens_total", &[]);
        let prompt = page.sum("plimsoll_prompt_tokens_total", &[]);
        assert!(cached > 0.6 * prompt, "{cached} of {prompt}");
    })
    .await;
}

#[tokio::test]
async fn least_kv_takes_the_emptier_one() {
    bounded(async {
        let config =
            SimConfig::default().capacity_tokens(4000).token_interval(Duration::from_millis(20));
        let flags = "--policy least_kv --scrape-interval-ms 100 --scrape-timeout-ms 5000 \
                     --stale-after-ms 10000";
        let two = Two::start(config, flags).await;
        // One that has not been read is not known to be emptier.
        let capacity = "plimsoll_worker_kv_capacity_tokens";
        two.router.page_when(|page| page.count(capacity, &[]) == 8000).await;
        let words = "word ".repeat(900);
        let body = chat(",\"stream\":true,\"max_tokens\":900,\"ignore_eos\":true")
            .replace("Hello world", &words);
        let mut filling = two.router.post(CHAT, body).open().await;
        filling.until("\"content\":\"").await;
        let full = usize::from(two.engines[0].totals().open == 0);
        let url = two.engines[full].url();
        two.router
            .page_when(|page| page.sum("plimsoll_worker_kv_usage_ratio", &[("worker", &url)]) > 0.3)
            .await;
        for _ in 0..6 {
            assert_eq!(two.chosen("", None).await, 1 - full);
        }
        drop(filling);
        two.router.settled(7).await;
    })
    .await;
}
