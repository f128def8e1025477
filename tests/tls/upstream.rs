//! Engines that are reached by TLS.

use plimsoll_sim::{Role, SimConfig};

use super::{CHAT, SHORT, authority::Authority, engine::Engine};
use crate::support::{Folder, Plimsoll, bounded, chat, eventually, pair_line, said};

const HERE: &str = "127.0.0.1";

#[tokio::test]
async fn a_pair_is_served_and_read() {
    bounded(async {
        let (authority, folder) = (Authority::new(), Folder::new());
        let issuer = folder.put("ca.pem", &authority.pem);
        let engine = async |role| {
            Engine::start(SimConfig::default().role(role), &authority.issue(HERE)).await
        };
        let (prefill, decode) = (engine(Role::Prefill).await, engine(Role::Decode).await);
        let port = prefill.sim.bootstrap_port().expect("a bootstrap port");
        let (prefill_url, decode_url) = (prefill.url(), decode.url());
        let pair = pair_line(&prefill_url, port, &decode_url);
        let line = format!("{pair} --ca-cert-paths {issuer}");
        let router = Plimsoll::start(&line).await;
        for stream in ["", ",\"stream\":true"] {
            let answer = router.post(CHAT, chat(&format!("{stream}{SHORT}"))).send().await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        assert_eq!((prefill.sim.totals().requests, decode.sim.totals().requests), (2, 2));
        // Their pages are read the same way.
        eventually(async || {
            let kv = router.ask_metrics("/kv").send().await.text();
            if kv.matches("\"state\":\"ok\"").count() >= 2 { Ok(()) } else { Err(kv) }
        })
        .await;

        let checked = said(&format!("check {line}")).await;
        assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
        let looked = said(&format!("kv --ca-cert-paths {issuer} {prefill_url} {decode_url}")).await;
        assert_eq!(looked.code, Some(0), "{}{}", looked.out, looked.err);
    })
    .await;
}

/// Waits until the only worker is out for a reason that holds this text.
async fn has_reason(router: &Plimsoll, text: &str) {
    eventually(async || {
        let listing = router.get("/workers").send().await.json();
        let reason = listing["workers"][0]["reason"].as_str().unwrap_or_default().to_owned();
        if reason.contains(text) { Ok(()) } else { Err(format!("{reason:?}: {}", router.log())) }
    })
    .await;
}

/// The reason of a worker that is refused, in the list, in the log and for a client.
async fn refused(flags: &str, engine: &Engine, reason: &str) {
    let line = format!("--worker-urls {} {flags}", engine.url());
    let router = Plimsoll::launch(&line).await;
    has_reason(&router, &format!("its probes fail: it cannot be reached by TLS: {reason}")).await;
    let log = router.log();
    assert!(
        log.contains(&format!("is not up yet: it cannot be reached by TLS: {reason}")),
        "{log}"
    );
    assert_eq!(engine.sim.totals().requests, 0);
}

#[tokio::test]
async fn an_unknown_issuer_is_refused() {
    bounded(async {
        let folder = Folder::new();
        let engine = Engine::start(SimConfig::default(), &Authority::new().issue(HERE)).await;
        let other = folder.put("ca.pem", &Authority::new().pem);
        let reason = "its certificate is of an unknown issuer (--ca-cert-paths)";
        refused("", &engine, reason).await;
        refused(&format!("--ca-cert-paths {other}"), &engine, reason).await;

        let checked = said(&format!("check --worker-urls {}", engine.url())).await;
        assert_eq!(checked.code, Some(1));
        assert!(checked.err.contains(&format!("{}: {reason}", engine.url())), "{}", checked.err);
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_with_a_certificate_is_said() {
    bounded(async {
        let (authority, folder) = (Authority::new(), Folder::new());
        let trust = format!("--ca-cert-paths {}", folder.put("ca.pem", &authority.pem));
        for (issued, reason) in [
            (authority.issue_expired(HERE), "its certificate has expired"),
            (
                authority.issue("other.example"),
                "its certificate is not for this name, but for other.example",
            ),
        ] {
            refused(&trust, &Engine::start(SimConfig::default(), &issued).await, reason).await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_engine_may_ask_for_a_certificate() {
    bounded(async {
        let (authority, folder) = (Authority::new(), Folder::new());
        let issued = authority.issue(HERE);
        let engine =
            Engine::start_asking(SimConfig::default(), &issued, Some(&authority.pem)).await;
        let trust = format!("--ca-cert-paths {}", folder.put("ca.pem", &authority.pem));
        refused(&trust, &engine, "it wants a certificate (--client-cert-path").await;

        let ours = authority.issue("router.example");
        let certificate = folder.put("client.pem", &ours.certificate);
        let key = folder.put("client.key", &ours.key);
        let flags = format!("{trust} --client-cert-path {certificate} --client-key-path {key}");
        let line = format!("--worker-urls {} {flags}", engine.url());
        let router = Plimsoll::start(&line).await;
        let answer = router.post(CHAT, chat(SHORT)).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let looked = said(&format!("kv {flags} {}", engine.url())).await;
        assert_eq!(looked.code, Some(0), "{}{}", looked.out, looked.err);
    })
    .await;
}

#[tokio::test]
async fn an_engine_without_tls_is_told_apart() {
    bounded(async {
        let engine = Engine::start(SimConfig::default(), &Authority::new().issue(HERE)).await;
        let line = format!("--worker-urls {}", engine.sim.url().replace("http:", "https:"));
        let router = Plimsoll::launch(&line).await;
        has_reason(&router, "it does not speak TLS: is it an http:// worker?").await;
    })
    .await;
}

/// The handshake is bounded as the connection is, and others are served meanwhile.
#[tokio::test]
async fn an_engine_that_says_nothing_holds_nobody() {
    bounded(async {
        let (authority, folder) = (Authority::new(), Folder::new());
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let silent_url = format!("https://{}", silent.local_addr().expect("an address"));
        let engine = Engine::start(SimConfig::default(), &authority.issue(HERE)).await;
        let issuer = folder.put("ca.pem", &authority.pem);
        let line = format!(
            "--worker-urls {silent_url} {} --ca-cert-paths {issuer} --health-check-timeout-secs 2",
            engine.url()
        );
        let router = Plimsoll::start(&line).await;
        let answer = router.post(CHAT, chat(SHORT)).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        has_reason(&router, "it did not answer within 2 s").await;
    })
    .await;
}
