use std::{io, time::Duration};

use plimsoll_sim::{Fault, FaultAction, SimEngine};

use crate::client::{chat, get, post, read_all, read_until, send, start, text, tiny};

const PATH: &str = "/v1/chat/completions";

async fn stream(engine: &SimEngine, action: FaultAction) -> io::Result<String> {
    engine.faults().push(Fault::once(action));
    let body = chat(",\"max_tokens\":5,\"stream\":true");
    let bytes = read_all(send(engine.addr(), "POST", PATH, &body).await).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn events(answer: &str) -> usize {
    answer.matches("data: ").count()
}

#[tokio::test]
async fn heads_can_be_wrong_late_or_missing() {
    let engine = start(tiny()).await;
    let busy = FaultAction::Status {
        code: 503,
        headers: vec![("retry-after".to_owned(), "1".to_owned())],
        body: "{}".into(),
    };
    let found = stream(&engine, busy).await.unwrap();
    assert!(found.starts_with("HTTP/1.1 503") && found.contains("\r\nretry-after: 1\r\n"));
    let reset = stream(&engine, FaultAction::ResetBeforeHead).await;
    assert_eq!(reset.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    let late = stream(&engine, FaultAction::DelayHead(Duration::from_millis(5))).await.unwrap();
    assert!(late.ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"));
    let garbage = stream(&engine, FaultAction::GarbageBody).await.unwrap();
    assert!(garbage.starts_with("HTTP/1.1 200") && garbage.contains("neither JSON"));
}

#[tokio::test]
async fn streams_can_break_off() {
    let engine = start(tiny()).await;
    let cut = stream(&engine, FaultAction::CutAfterEvents(3)).await.unwrap();
    assert_eq!((events(&cut), cut.ends_with("\n0\r\n\r\n")), (3, false));
    let short = stream(&engine, FaultAction::TruncateAfterEvents(2)).await.unwrap();
    assert_eq!((events(&short), short.ends_with("\n0\r\n\r\n")), (2, true));
    let error = stream(&engine, FaultAction::ErrorEventAfter(2)).await.unwrap();
    assert_eq!(events(&error), 4);
    assert!(error.contains("data: {\"error\": ") && error.contains("data: [DONE]"));
    let slow = stream(&engine, FaultAction::DelayPerEvent(Duration::from_millis(1))).await;
    assert_eq!(events(&slow.unwrap()), 8);
    engine.wait_for(|totals| totals.open == 0).await;
    assert_eq!(engine.used_tokens(), 0);
}

#[tokio::test]
async fn hanging_requests_end_with_their_client() {
    let engine = start(tiny()).await;
    for action in [FaultAction::HangHead, FaultAction::StallAfterEvents(1)] {
        let stalls = action == FaultAction::StallAfterEvents(1);
        engine.faults().push(Fault::once(action));
        let body = chat(",\"stream\":true");
        let mut stream = send(engine.addr(), "POST", PATH, &body).await;
        if stalls {
            read_until(&mut stream, "data: ").await;
        }
        engine.wait_for(|totals| totals.open == 1).await;
        drop(stream);
        engine.wait_for(|totals| totals.open == 0).await;
    }
    assert_eq!(engine.totals().aborted, 2);
}

#[tokio::test]
async fn an_unhealthy_engine_says_so_and_works() {
    let engine = start(tiny()).await;
    engine.faults().set_unhealthy(true);
    assert_eq!(get(engine.addr(), "/health").await.status, 503);
    assert_eq!(post(engine.addr(), PATH, &chat(",\"max_tokens\":1")).await.status, 200);
    engine.faults().clear();
    assert_eq!(get(engine.addr(), "/health").await.status, 200);
}

#[tokio::test]
async fn other_paths_can_fail_too() {
    let engine = start(tiny()).await;
    engine.faults().push(Fault::once(FaultAction::GarbageBody).on("/metrics"));
    assert!(text(&get(engine.addr(), "/metrics").await).contains("<html>"));
    assert!(text(&get(engine.addr(), "/metrics").await).contains("# TYPE"));
}
