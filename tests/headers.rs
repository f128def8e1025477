//! Headers: what passes, what does not, and who may ask.

use plimsoll_sim::replay::Reply;

use crate::support::{Answer, Call, Pair, Plimsoll, bounded, chat, posts, replay};

const CHAT: &str = "/v1/chat/completions";
const BODY: &str = r#"{"model":"replay","usage":{"prompt_tokens":3,"completion_tokens":2}}"#;

/// An answer with headers of every kind.
fn answer() -> Reply {
    Reply::new().write(format!(
        "HTTP/1.1 200 OK\r\nserver: uvicorn\r\nX-Engine: 7\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\
         connection: x-hop\r\nx-hop: 1\r\nkeep-alive: timeout=5\r\ncontent-type: \
         application/json\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    ))
}

async fn pair(flags: &str) -> Pair {
    Pair::start(flags, |_| answer(), |_| answer()).await
}

#[tokio::test]
async fn request_ids_are_kept_or_made_and_returned() {
    bounded(async {
        let pair = pair("").await;
        let call = || pair.router.post(CHAT, chat(""));
        let kept = call().header("X-Request-Id", "mine-1").send().await;
        assert_eq!(kept.header("x-request-id"), Some("mine-1"));
        let other = call().header("x-correlation-id", "mine-2").send().await;
        assert_eq!(other.header("x-request-id"), Some("mine-2"));
        let (one, two) = (call().send().await, call().send().await);
        let (one, two) = (one.header("x-request-id").expect("an id"), two.header("x-request-id"));
        assert!(one.len() >= 16 && Some(one) != two, "{one} {two:?}");
        pair.legs(4).await;
        for server in [&pair.prefill, &pair.decode] {
            let seen = posts(server);
            let ids: Vec<_> = seen.iter().map(|request| request.header("x-request-id")).collect();
            assert_eq!(ids, [Some("mine-1"), Some("mine-2"), Some(one), two]);
        }
        let refused = pair.router.get("/nowhere").header("x-request-id", "mine-3").send().await;
        assert_eq!((refused.status, refused.header("x-request-id")), (404, Some("mine-3")));
    })
    .await;
}

#[tokio::test]
async fn what_reaches_the_engines() {
    bounded(async {
        let pair = pair("").await;
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let call = pair.router.post(CHAT, chat("")).header("traceparent", trace);
        let call = call.header("X-Unknown", "a").header("x-unknown", "b").header("cookie", "c=1");
        let call =
            call.header("authorization", "Bearer theirs").header("accept-encoding", "gzip, br");
        let call = call.header("connection", "close, X-Mine").header("x-mine", "1");
        let call = call.header("te", "trailers").header("keep-alive", "5").header("expect", "");
        let call = call.header("proxy-authorization", "x").header("proxy-connection", "x");
        assert_eq!(call.send().await.status, 200);
        pair.legs(1).await;
        for server in [&pair.prefill, &pair.decode] {
            let seen = &posts(server)[0];
            let host = server.addr().to_string();
            let length = seen.body.len().to_string();
            for (name, wanted) in [
                ("traceparent", Some(trace)),
                ("cookie", Some("c=1")),
                ("content-type", Some("application/json")),
                ("authorization", Some("Bearer theirs")),
                ("host", Some(&*host)),
                ("content-length", Some(&*length)),
                ("accept-encoding", None),
                ("x-mine", None),
                ("te", None),
                ("keep-alive", None),
                ("proxy-authorization", None),
                ("proxy-connection", None),
                ("expect", None),
                ("transfer-encoding", None),
            ] {
                assert_eq!(seen.header(name), wanted, "{name}");
            }
            let unknown =
                seen.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("x-unknown"));
            assert_eq!(unknown.map(|(_, value)| &**value).collect::<Vec<_>>(), ["a", "b"]);
        }
    })
    .await;
}

#[tokio::test]
async fn what_reaches_the_client() {
    bounded(async {
        let pair = pair("").await;
        let answer = pair.router.post(CHAT, chat("")).send().await;
        assert_eq!(
            (answer.header("server"), answer.header("x-engine")),
            (Some("uvicorn"), Some("7"))
        );
        assert_eq!((answer.header("x-hop"), answer.header("keep-alive")), (None, None));
        let cookies = answer.headers.iter().filter(|(name, _)| name == "set-cookie");
        assert_eq!(cookies.map(|(_, value)| &**value).collect::<Vec<_>>(), ["a=1", "b=2"]);
        assert_eq!(answer.header("content-length"), Some(&*BODY.len().to_string()));
        assert!(!answer.chunked && answer.header("transfer-encoding").is_none());
        assert_eq!(answer.text(), BODY);
    })
    .await;
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    bounded(async {
        let pair = pair("").await;
        pair.router.models(1).await;
        for path in ["/v1/models", "/readiness"] {
            let get = pair.router.get(path).send().await;
            let head = Call::new(pair.router.addr, "HEAD", path).send().await;
            assert_eq!((get.status, head.status), (200, 200));
            let length = get.body().len().to_string();
            assert_eq!(get.header("content-length"), Some(&*length), "{path}");
            assert_eq!(head.header("content-length"), Some(&*length), "{path}");
            assert!(head.body().is_empty() && !get.body().is_empty());
        }
        let head = Call::new(pair.router.addr, "HEAD", "/health").send().await;
        assert_eq!((head.status, head.body().len()), (200, 0));
    })
    .await;
}

/// Probes and both legs carry the key that the worker is to get.
#[track_caller]
fn assert_workers_got(pair: &Pair, wanted: Option<&str>) {
    for server in [&pair.prefill, &pair.decode] {
        let seen = server.requests();
        assert!(seen.iter().any(|request| request.method == "POST"));
        let given: Vec<_> = seen.iter().map(|request| request.header("authorization")).collect();
        assert!(given.iter().all(|given| *given == wanted), "{given:?}");
    }
}

#[tokio::test]
async fn workers_get_the_key_or_one_of_their_own() {
    bounded(async {
        for (flags, wanted) in [
            ("--api-key front", Some("Bearer front")),
            ("--api-key front --worker-api-key back", Some("Bearer back")),
            ("--worker-api-key back", Some("Bearer back")),
        ] {
            let pair = pair(flags).await;
            let call = pair.router.post(CHAT, chat("")).header("authorization", "bearer front");
            assert_eq!(call.send().await.status, 200, "{flags}");
            pair.legs(1).await;
            assert_workers_got(&pair, wanted);
        }
        let open = pair("").await;
        assert_eq!(open.router.post(CHAT, chat("")).send().await.status, 200);
        open.legs(1).await;
        assert_workers_got(&open, None);
    })
    .await;
}

#[track_caller]
fn assert_unauthorized(answer: &Answer, path: &str) {
    assert_eq!(answer.status, 401, "{path}");
    assert_eq!(answer.json()["error"]["type"], "authentication_error");
    assert!(answer.error().contains("Bearer"));
    assert!(answer.header("www-authenticate").is_some_and(|scheme| scheme.starts_with("Bearer")));
}

#[tokio::test]
async fn every_route_but_the_probes_wants_the_key() {
    bounded(async {
        let key = "sk-5ecret-5ecret";
        let engine = replay(|_| answer()).await;
        let line = format!("--worker-urls {} --api-key {key} --log-level trace", engine.url());
        let router = Plimsoll::start(&line).await;
        let posts_of = [CHAT, "/v1/completions", "/generate", "/v1/embeddings", "/v1/responses"];
        for path in posts_of {
            assert_unauthorized(&router.post(path, chat("")).send().await, path);
            // Nor is the body read of someone who may not send it.
            let withheld = router.post(path, "").withheld(100 << 20);
            assert_unauthorized(&withheld.send().await, path);
        }
        for path in [
            "/v1/models",
            "/get_model_info",
            "/server_info",
            "/v1/loads",
            "/health_generate",
            "/metrics",
            "/none",
            CHAT,
        ] {
            assert_unauthorized(&router.get(path).send().await, path);
        }
        for path in ["/health", "/liveness", "/readiness"] {
            assert_eq!(router.get(path).send().await.status, 200, "{path}");
        }
        let bearer = format!("Bearer {key}");
        for wrong in
            ["Bearer wrong", key, "Bearer", "Basic sk-5ecret-5ecret", &bearer[..bearer.len() - 1]]
        {
            let call = router.post(CHAT, chat("")).header("authorization", wrong);
            assert_unauthorized(&call.send().await, wrong);
        }
        assert_eq!(posts(&engine).len(), 0);
        let right = router.post(CHAT, chat("")).header("authorization", &bearer).send().await;
        assert_eq!(right.status, 200);
        let page = router.page_when(|page| page.outcomes("complete") == 1).await;
        assert!(page.count("plimsoll_requests_total", &[("code", "401")]) >= 10, "{page}");
        assert!(!page.to_string().contains("5ecret"), "{page}");
        assert!(!router.log().contains("5ecret"), "{}", router.log());
    })
    .await;
}
