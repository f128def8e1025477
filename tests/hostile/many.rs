//! As many connections as there may be.

use std::fs;

use futures_util::{StreamExt, stream};

use super::{served, whole};
use crate::support::{Exchange, bounded, eventually};

/// What one connection may take, in bytes.
const EACH: u64 = 32 << 10;

/// Ten thousand, or what the limit on open files lets this process have beside the other tests.
fn count() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").expect("a Linux");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let limit = line.and_then(|line| line.split_whitespace().next()).expect("a limit");
    limit.parse().map_or(10_000, |limit: usize| limit.saturating_sub(1500).min(10_000))
}

/// Half of them never ask, half are kept for another request.
#[tokio::test]
async fn ten_thousand_connections_leave_room_for_more() {
    bounded(async {
        let (router, _engine) = served("").await;
        let (before, count) = (router.resident(), count());
        let open = |number: usize| {
            let addr = router.addr;
            async move {
                if number % 2 == 0 {
                    return Exchange::raw(addr, "").await;
                }
                let mut client =
                    Exchange::raw(addr, "GET /health HTTP/1.1\r\nhost: a\r\n\r\n").await;
                assert_eq!(client.whole().await.status, 200);
                client
            }
        };
        let opening = stream::iter(0..count).map(open).buffer_unordered(256);
        let clients: Vec<_> = opening.collect().await;
        let grown = router.resident().saturating_sub(before);
        println!("{count} connections take {} B each", grown / count as u64);
        assert!(grown < EACH * count as u64, "{grown}");
        // A thread may be short of time, but nobody is turned away.
        for _ in 0..10 {
            let mut client = Exchange::raw(router.addr, whole("")).await;
            assert_eq!(client.whole().await.status, 200);
        }
        assert_eq!(router.page().await.count("plimsoll_requests_in_flight", &[]), 0);
        let open = || router.open_files();
        assert!(open() >= count as u64, "{}", open());
        drop(clients);
        eventually(async || if open() < 100 { Ok(()) } else { Err(format!("{} open", open())) })
            .await;
        assert_eq!(router.settled(10).await.outcomes("complete"), 10);
    })
    .await;
}
