//! What a real pair counted itself, beside what is counted of its replies.

use std::{fs, path::PathBuf};

use super::CHAT;
use crate::support::{Pair, Recorded, bounded, folder};

const MOONCAKE: &str = "sglang-0.5.23-pd-mooncake-tcp";

/// The sum of a counter on a recorded page of the decode engine.
fn on_page(page: &str, name: &str) -> u64 {
    let file: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "fixtures", "captures", MOONCAKE, page].iter().collect();
    let text = fs::read_to_string(file).expect("a recorded page");
    let lines = text.lines().filter(|line| line.starts_with(&format!("sglang:{name}{{")));
    let values = lines.map(|line| line.rsplit(' ').next().expect("a value"));
    values.map(|value| value.parse::<f64>().expect("a number") as u64).sum()
}

fn recorded(name: &str) -> Recorded {
    let mut all = folder(MOONCAKE).into_iter();
    all.find(|recorded| recorded.name == name).expect("a recorded answer")
}

/// The only moment between two recorded pages in which nothing but recorded requests ran: the first
/// request of a fresh pair.
#[tokio::test]
async fn the_decode_engine_counted_the_same() {
    bounded(async {
        let (prefill, decode) = (recorded("chat.prefill"), recorded("chat.decode"));
        let client = decode.request.split_once(",\"bootstrap_host\"").expect("a pair's request").0;
        let client = format!("{client}}}");
        let pair = Pair::start("", move |_| prefill.reply(), move |_| decode.reply()).await;
        pair.router.post(CHAT, client).send().await;
        let page = pair.router.settled(1).await;
        for (ours, theirs) in
            [("prompt", "prompt_tokens_total"), ("completion", "generation_tokens_total")]
        {
            let [before, after] =
                ["decode-metrics-0-before.prom", "decode-metrics-1-after-first.prom"]
                    .map(|page| on_page(page, theirs));
            assert!(after > before);
            let counted = page.count(&format!("plimsoll_{ours}_tokens_total"), &[]);
            assert_eq!(counted, after - before, "{theirs}");
        }
    })
    .await;
}
