//! Both legs of a prefill/decode pair: the client gets decode's bytes, and of prefill only the
//! cached count is counted.

use std::collections::HashMap;

use super::{CAPTURE, Counted, ask, assert_relayed, by_name, expected};
use crate::support::{Pair, Recorded, bounded, folder, posts, usage};

/// Prefill's and decode's answer to one request.
fn pairs(name: &str) -> Vec<(Recorded, Recorded)> {
    let mut by_leg: HashMap<_, _> = folder(name).into_iter().map(|r| (r.name.clone(), r)).collect();
    let mut names: Vec<_> =
        by_leg.keys().filter_map(|name| name.strip_suffix(".prefill").map(str::to_owned)).collect();
    names.sort();
    let pair = |name: String| {
        let mut leg = |leg| by_leg.remove(&format!("{name}.{leg}")).map(|r| as_client(r, &name));
        Some((leg("prefill")?, leg("decode")?))
    };
    names.into_iter().filter_map(pair).collect()
}

/// The leg's request as the client would have sent it: without what a router puts in.
fn as_client(recorded: Recorded, name: &str) -> Recorded {
    let request = match recorded.request.split_once(",\"bootstrap_host\"") {
        Some((before, _)) => format!("{before}}}"),
        None => recorded.request.clone(),
    };
    Recorded { request, name: name.to_owned(), ..recorded }
}

async fn replay_pairs(name: &str, wanted_pairs: usize) {
    let pairs = pairs(name);
    assert_eq!(pairs.len(), wanted_pairs, "in {name}");
    let (prefill, decode): (Vec<_>, Vec<_>) = pairs.iter().cloned().unzip();
    let both = Pair::start("", by_name(prefill), by_name(decode)).await;
    let mut wanted = Counted::default();
    for (index, (prefill, decode)) in pairs.iter().enumerate() {
        let answer = ask(&both.router, decode, &decode.name).await;
        if answer.status == 200 {
            assert_relayed(&answer, decode);
        } else {
            // Both refuse; whoever comes first decides.
            let first = if answer.body() == prefill.body() { prefill } else { decode };
            assert_relayed(&answer, first);
        }
        let cached = usage(prefill).and_then(|usage| usage.cached);
        wanted = wanted.plus(expected(decode, cached));
        let page = both.router.settled(index as u64 + 1).await;
        assert_eq!(Counted::read(&page), wanted, "after {} of {name}", decode.name);
    }
}

#[tokio::test]
async fn over_mooncake() {
    bounded(replay_pairs("sglang-0.5.23-pd-mooncake-tcp", 15)).await;
}

#[tokio::test]
async fn before_the_crash() {
    bounded(replay_pairs("sglang-0.5.23-pd-n2-crash", 5)).await;
}

/// What decode says when nobody has sent it a room, or prefill's half does not come: relayed, while
/// prefill answers well.
#[tokio::test]
async fn failures_that_decode_reports() {
    bounded(async {
        let prefill = pairs("sglang-0.5.23-pd-mooncake-tcp").remove(0).0;
        let recorded = folder("sglang-0.5.23-pd-mooncake-tcp").into_iter();
        let decode: Vec<_> = recorded
            .filter(|recorded| {
                ["noroom-stream.decode", "timeout-decode-only"].contains(&&*recorded.name)
            })
            .map(|recorded| as_client(recorded.clone(), &recorded.name))
            .collect();
        assert_eq!(decode.len(), 2);
        let both = Pair::start("", move |_| prefill.reply(), by_name(decode.clone())).await;
        for (index, decode) in decode.iter().enumerate() {
            let answer = ask(&both.router, decode, &decode.name).await;
            assert_relayed(&answer, decode);
            let page = both.router.settled(index as u64 + 1).await;
            assert_eq!(page.outcomes("upstream_error"), index as u64 + 1);
        }
        assert!(posts(&both.decode).iter().all(|request| request.header(CAPTURE).is_some()));
    })
    .await;
}
