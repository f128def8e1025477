use std::{convert::Infallible, time::Duration};

use http::{Request, Response};
use http_body_util::BodyExt;
use tower::{Layer, ServiceExt, service_fn};

use super::{
    Body, DONE, Records, Step, TOKEN, event_stream, full, recording, scripted, usage_event,
};
use crate::{Completeness, DrainLayer, Outcome};

const CHAT: &str = "/v1/chat/completions";

/// A stream of 30 s: three texts, then the counts.
fn slow() -> Vec<Step> {
    let texts = [Step::Send(TOKEN.to_owned()), Step::Wait(10_000)];
    let texts = texts.iter().cycle().take(6).cloned();
    texts.chain([Step::Send(usage_event(7, 3)), Step::Send(DONE.to_owned())]).collect()
}

/// Asks `count` times and leaves: each time after the first text, or before the head, which takes
/// `head` milliseconds.
async fn leave(layer: &DrainLayer, count: usize, head: Option<u64>) -> Records {
    let (meter, records) = recording();
    let service = layer.layer(meter.layer(service_fn(move |_: Request<Body>| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(head.unwrap_or(0))).await;
            Ok::<_, Infallible>(event_stream(slow()))
        })
    })));
    for _ in 0..count {
        let request = Request::post(CHAT).body(full("")).unwrap();
        let response = service.clone().oneshot(request);
        if head.is_some() {
            assert!(tokio::time::timeout(Duration::from_millis(1), response).await.is_err());
        } else {
            response.await.unwrap().into_body().frame().await.unwrap().unwrap();
        }
    }
    records
}

fn judged(records: &Records) -> Vec<(Outcome, Completeness, Option<u64>)> {
    let records = records.lock().unwrap();
    let judged = records.iter().map(|record| {
        let tokens = record.usage.completion.or(record.completion_lower_bound);
        (record.outcome, record.completeness, tokens)
    });
    judged.collect()
}

const DRAINED: (Outcome, Completeness, Option<u64>) =
    (Outcome::ClientDisconnect, Completeness::Exact, Some(3));

fn cut(tokens: u64) -> (Outcome, Completeness, Option<u64>) {
    (Outcome::ClientDisconnect, Completeness::Partial, Some(tokens))
}

#[tokio::test(start_paused = true)]
async fn what_is_left_is_read_to_its_end() {
    let layer = DrainLayer::new(Duration::from_secs(60), 8);
    for head in [None, Some(5)] {
        let records = leave(&layer, 1, head).await;
        assert!(records.lock().unwrap().is_empty(), "it goes on");
        tokio::time::sleep(Duration::from_secs(31)).await;
        assert_eq!(judged(&records), [DRAINED], "{head:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn not_beyond_the_time_given() {
    let records = leave(&DrainLayer::new(Duration::from_secs(15), 8), 1, None).await;
    tokio::time::sleep(Duration::from_secs(14)).await;
    assert!(records.lock().unwrap().is_empty());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(judged(&records), [cut(2)]);
}

#[tokio::test(start_paused = true)]
async fn not_more_than_so_many_at_a_time() {
    let layer = DrainLayer::new(Duration::from_secs(60), 2);
    let records = leave(&layer, 3, None).await;
    assert_eq!(judged(&records), [cut(1)], "the third is cut at once");
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(judged(&records), [cut(1), DRAINED, DRAINED]);
    let records = leave(&layer, 1, None).await;
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(judged(&records), [DRAINED], "the places are free again");
}

#[tokio::test(start_paused = true)]
async fn off_means_cut() {
    assert_eq!(judged(&leave(&DrainLayer::off(), 1, None).await), [cut(1)]);
    assert_eq!(judged(&leave(&DrainLayer::off(), 1, Some(5)).await), [cut(0)]);
}

/// A client that has its whole answer is no leaver, and what was an error has nothing to count.
#[tokio::test(start_paused = true)]
async fn only_what_is_worth_it() {
    let layer = DrainLayer::new(Duration::from_secs(60), 8);
    let (meter, records) = recording();
    let done = vec![Step::Send(usage_event(7, 3) + DONE), Step::Wait(10_000)];
    let error = vec![Step::Send("{}".to_owned()), Step::Wait(10_000)];
    for (steps, status) in [(done, 200), (error, 500)] {
        let mut response =
            if status == 200 { event_stream(steps) } else { Response::new(scripted(steps)) };
        *response.status_mut() = status.try_into().unwrap();
        let mut response = Some(response);
        let service = layer.layer(meter.layer(service_fn(move |_: Request<Body>| {
            std::future::ready(Ok::<_, Infallible>(response.take().unwrap()))
        })));
        let request = Request::post(CHAT).body(full("")).unwrap();
        let response = service.oneshot(request).await.unwrap();
        response.into_body().frame().await.unwrap().unwrap();
    }
    let outcomes: Vec<_> = records.lock().unwrap().iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, [Outcome::Complete, Outcome::UpstreamError]);
}
