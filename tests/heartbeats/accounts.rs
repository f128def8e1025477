//! Pings change nothing in what is counted, nor in what is withheld.

use std::time::Duration;

use plimsoll_sim::SimConfig;

use super::{CHAT, DONE, FLAG, PAUSE, paused, streamed, without_pings};
use crate::support::{Log, Plimsoll, bounded, replay, sim_pair, text_event};

const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n";

#[tokio::test]
async fn accounts_are_the_same() {
    bounded(async {
        let slow =
            SimConfig { time_to_first_token: Duration::from_millis(2500), ..SimConfig::default() };
        let mut lines = Vec::new();
        for flag in ["", FLAG] {
            let log = Log::new();
            let flags = format!("{flag} {}", log.flag());
            let (router, _prefill, decode) = sim_pair(slow.clone(), &flags).await;
            let answer = router.post(CHAT, streamed()).send().await;
            assert!(!answer.text().contains("\"choices\":[]"), "{}", answer.text());
            let page = router.settled(1).await;
            let tokens = page.count("plimsoll_completion_tokens_total", &[]);
            assert_eq!((tokens, decode.totals().generation_tokens), (6, 6));
            let first = page.sum("plimsoll_time_to_first_token_seconds_sum", &[]);
            assert!((2.5..6.0).contains(&first), "{first}");
            let mut line = log.wait(1).await.remove(0);
            assert!(line["timing"]["first_token_ms"].as_f64() >= Some(2500.0), "{line}");
            for own in ["ts", "id", "timing", "prefill", "decode"] {
                line[own].take();
            }
            lines.push(line);
        }
        assert_eq!(lines[0], lines[1]);
    })
    .await;
}

/// The event of usage that the client did not ask for: cut in two, and with a pause after it.
#[tokio::test]
async fn a_withheld_event_stays_withheld() {
    bounded(async {
        let text = text_event("a") + &text_event("b");
        let (half, rest) = USAGE.split_at(40);
        for pieces in [[&*text, half, rest, DONE].as_slice(), &[&text, USAGE, DONE]] {
            let reply = paused(pieces, &PAUSE);
            let engine = replay(move |_| reply.clone()).await;
            let router = Plimsoll::start(&format!("--worker-urls {} {FLAG}", engine.url())).await;
            let answer = router.post(CHAT, streamed()).send().await;
            assert_eq!(without_pings(&answer), format!("{text}{DONE}"));
            let page = router.settled(1).await;
            assert_eq!(page.count("plimsoll_prompt_tokens_total", &[]), 9, "{page}");
            assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), 2, "{page}");
        }
    })
    .await;
}
