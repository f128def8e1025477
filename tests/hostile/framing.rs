//! Requests whose end, or whose target, two readers may see in different places. What is in doubt is
//! refused, and what follows it on the connection is nobody's request.

use super::{BODY, CHAT, POST, chunked, served, statuses, whole};
use crate::support::{Exchange, bounded, posts};

/// Heads in front of [`BODY`] that leave it in doubt where the request ends.
const DOUBTFUL: [&str; 17] = [
    "content-length: 13\r\ncontent-length: 14\r\n",
    "content-length: 13, 13\r\n",
    "content-length: 13, 14\r\n",
    "content-length: +13\r\n",
    "content-length: -1\r\n",
    "content-length: 0xd\r\n",
    "content-length: 13 \x0b\r\n",
    "content-length: 99999999999999999999\r\n",
    "content-length : 13\r\n",
    "transfer-encoding: xchunked\r\ncontent-length: 13\r\n",
    "transfer-encoding: chunked, identity\r\n",
    "transfer-encoding:\x0bchunked\r\n",
    "transfer-encoding : chunked\r\n",
    "x-a: b\r\n c\r\ncontent-length: 13\r\n",
    "x-a: b\rcontent-length: 0\r\ncontent-length: 13\r\n",
    "x-a: b\0\r\ncontent-length: 13\r\n",
    "\r content-length: 13\r\n",
];

/// A second request, as one would be smuggled.
fn smuggled() -> String {
    whole("x-smuggled: 1\r\n")
}

#[tokio::test]
async fn heads_in_doubt_are_refused() {
    bounded(async {
        let (router, engine) = served("").await;
        for head in DOUBTFUL {
            let request = format!("{POST}{head}\r\n{BODY}{}", smuggled());
            let text = Exchange::raw(router.addr, request).await.all().await;
            assert_eq!(statuses(&text), ["400"], "{head:?}: {text}");
            assert!(text.contains("connection: close\r\n"), "{head:?}: {text}");
        }
        let old = format!("POST {CHAT} HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n{BODY}");
        let text = Exchange::raw(router.addr, old).await.all().await;
        assert_eq!(statuses(&text), ["400"], "{text}");
        assert_eq!(posts(&engine).len(), 0);
        let page = router.page().await;
        assert_eq!(page.count("plimsoll_requests_total", &[]), 0, "they were no requests");
    })
    .await;
}

/// Where they end is known, but not what is in them.
#[tokio::test]
async fn other_codings_below_the_chunks_are_refused() {
    bounded(async {
        let (router, engine) = served("").await;
        for coding in ["gzip, chunked", "chunked\r\ntransfer-encoding: chunked", "chunked, chunked"]
        {
            let text = Exchange::raw(
                router.addr,
                chunked(&format!("connection: close\r\ntransfer-encoding: {coding}\r\n")),
            )
            .await
            .all()
            .await;
            assert_eq!(statuses(&text), ["501"], "{coding:?}: {text}");
            assert!(text.contains("the transfer-encoding '"), "{coding:?}: {text}");
        }
        assert_eq!(posts(&engine).len(), 0);
    })
    .await;
}

/// The chunks count (RFC 9112, section 6.3), and what is behind them was perhaps read otherwise.
#[tokio::test]
async fn a_length_beside_chunks_ends_the_connection() {
    bounded(async {
        let (router, engine) = served("").await;
        for head in [
            "content-length: 5\r\ntransfer-encoding: chunked\r\n",
            "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
        ] {
            let request = format!("{}{}", chunked(head), smuggled());
            let text = Exchange::raw(router.addr, request).await.all().await;
            assert_eq!(statuses(&text), ["200"], "{text}");
            assert!(text.contains("connection: close\r\n"), "{text}");
        }
        let seen = posts(&engine);
        assert_eq!(seen.len(), 2);
        for request in seen {
            assert_eq!(request.body, BODY);
            assert_eq!(request.header("content-length"), Some("13"));
            assert_eq!(
                (request.header("transfer-encoding"), request.header("x-smuggled")),
                Default::default()
            );
        }
    })
    .await;
}

#[tokio::test]
async fn the_same_length_twice_is_one() {
    bounded(async {
        let (router, engine) = served("").await;
        let twice = whole("connection: close\r\ncontent-length: 13\r\n");
        let text = Exchange::raw(router.addr, twice).await.all().await;
        assert_eq!(statuses(&text), ["200"]);
        assert_eq!((posts(&engine).len(), &posts(&engine)[0].body[..]), (1, BODY.as_bytes()));
    })
    .await;
}

#[tokio::test]
async fn chunks_that_are_none_are_refused() {
    bounded(async {
        let (router, engine) = served("").await;
        let long = format!("d;a={}\r\n{BODY}\r\n0\r\n\r\n", "x".repeat(70_000));
        let bodies = [
            "1000000000000000d\r\n{\"model\":\"m\"}\r\n0\r\n\r\n",
            "-d\r\n{\"model\":\"m\"}\r\n0\r\n\r\n",
            "0xd\r\n{\"model\":\"m\"}\r\n0\r\n\r\n",
            "d\n{\"model\":\"m\"}\n0\n\n",
            "d;\n{\"model\":\"m\"}\r\n0\r\n\r\n",
            "d\r\n{\"model\":\"m\"}XX0\r\n\r\n",
            "d\rX{\"model\":\"m\"}\r\n0\r\n\r\n",
            &long,
        ];
        for body in bodies {
            let request = format!("{POST}transfer-encoding: chunked\r\n\r\n{body}{}", smuggled());
            let text = Exchange::raw(router.addr, request).await.all().await;
            let shown = &body[..body.len().min(40)];
            assert_eq!(statuses(&text), ["400"], "{shown:?}: {text}");
            assert!(text.contains("\"code\":\"incomplete_body\""), "{shown:?}: {text}");
        }
        assert_eq!(posts(&engine).len(), 0);
        assert_eq!(router.settled(bodies.len() as u64).await.outcomes("client_error"), 8);
    })
    .await;
}

/// What may stand beside the chunks stays on this side.
#[tokio::test]
async fn extensions_and_trailers_of_chunks_go_nowhere() {
    bounded(async {
        let (router, engine) = served("").await;
        let chunks = format!("d;a=b;c=\"d\"\r\n{BODY}\r\n0\r\nx-late: 1\r\nhost: other\r\n\r\n");
        let head = "connection: close\r\ntransfer-encoding: chunked\r\n";
        let text =
            Exchange::raw(router.addr, format!("{POST}{head}\r\n{chunks}")).await.all().await;
        assert_eq!(statuses(&text), ["200"], "{text}");
        let seen = &posts(&engine)[0];
        assert_eq!((&seen.body[..], seen.header("x-late")), (BODY.as_bytes(), None));
        assert_eq!(seen.header("host"), Some(&*engine.addr().to_string()));
    })
    .await;
}

#[tokio::test]
async fn two_hosts_are_refused() {
    bounded(async {
        let (router, engine) = served("").await;
        for host in ["host: other\r\n", "Host: router\r\n"] {
            let text = Exchange::raw(router.addr, whole(&format!("connection: close\r\n{host}")));
            let text = text.await.all().await;
            assert_eq!(statuses(&text), ["400"], "{text}");
            assert!(text.contains("\"code\":\"invalid_request\""), "{text}");
        }
        assert_eq!(posts(&engine).len(), 0);
        assert_eq!(router.settled(2).await.outcomes("client_error"), 2);
    })
    .await;
}

/// The router is no forward proxy: of a target only the path counts.
#[tokio::test]
async fn another_hosts_target_is_a_path() {
    bounded(async {
        let (router, engine) = served("").await;
        let ask = async |target: &str, method: &str| {
            let head = format!("{method} {target} HTTP/1.1\r\nhost: evil.example\r\n");
            let rest = format!("connection: close\r\ncontent-length: 13\r\n\r\n{BODY}");
            Exchange::raw(router.addr, head + &rest).await.all().await
        };
        let text = ask("http://evil.example/v1/chat/completions?a=b", "POST").await;
        assert_eq!(statuses(&text), ["200"], "{text}");
        let seen = &posts(&engine)[0];
        assert_eq!(seen.path, format!("{CHAT}?a=b"));
        assert_eq!(seen.header("host"), Some(&*engine.addr().to_string()));
        for (target, method) in [
            ("evil.example:443", "CONNECT"),
            ("*", "OPTIONS"),
            ("http://evil.example", "POST"),
            ("//evil.example/v1/chat/completions", "POST"),
            ("/v1/../v1/chat/completions", "POST"),
            ("/v1//chat/completions", "POST"),
            ("/v1/chat%2Fcompletions", "POST"),
        ] {
            let text = ask(target, method).await;
            assert_eq!(statuses(&text), ["404"], "{target}: {text}");
        }
        assert_eq!(posts(&engine).len(), 1);
    })
    .await;
}

#[tokio::test]
async fn heads_have_a_limit() {
    bounded(async {
        let (router, engine) = served("").await;
        let long = "x".repeat(70_000);
        let many: String = (0..101).map(|number| format!("x-{number}: a\r\n")).collect();
        for head in [
            format!("{POST}x-a: {long}\r\n\r\n"),
            format!("{POST}{long}: a\r\n\r\n"),
            format!("{POST}{many}\r\n"),
            format!("POST /{long} HTTP/1.1\r\nhost: router\r\n\r\n"),
            // It has no end either.
            format!("{POST}x-a: {long}{long}"),
        ] {
            let text = Exchange::raw(router.addr, head).await.all().await;
            assert_eq!(statuses(&text), ["431"], "{text}");
        }
        assert_eq!(posts(&engine).len(), 0);
        let fits = format!("connection: close\r\nx-a: {}\r\n", "x".repeat(30_000));
        let text = Exchange::raw(router.addr, whole(&fits)).await.all().await;
        assert_eq!(statuses(&text), ["200"], "{text}");
        assert_eq!(posts(&engine)[0].header("x-a").map(str::len), Some(30_000));
    })
    .await;
}

#[tokio::test]
async fn what_is_no_http_is_refused() {
    bounded(async {
        let (router, engine) = served("").await;
        for bytes in [
            &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
            b"GET /health\r\n\r\n",
            b"GET /health HTTP/3.0\r\n\r\n",
            b"GET\0/health HTTP/1.1\r\n\r\n",
            b"\0\0\0\0\r\n\r\n",
            b"SSH-2.0-x\r\n",
        ] {
            for addr in [router.addr, router.metrics_addr] {
                let text = Exchange::raw(addr, bytes).await.all().await;
                assert_eq!(statuses(&text), ["400"], "{bytes:?}: {text}");
            }
        }
        assert_eq!(posts(&engine).len(), 0);
    })
    .await;
}
