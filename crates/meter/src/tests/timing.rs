use std::{convert::Infallible, sync::Arc, time::Duration};

use http::{Request, Response};
use http_body_util::BodyExt;
use metrics_exporter_prometheus::PrometheusBuilder;
use tower::{Layer, ServiceExt, service_fn};

use super::{
    Body, DONE, REASONING, ROLE, Step, TOKEN, event_stream, full, one, scripted, usage_event,
};
use crate::{MeterLayer, MetricsSink};

fn paced(pieces: &[(u64, &str)]) -> Vec<Step> {
    let steps =
        pieces.iter().flat_map(|&(wait, piece)| [Step::Wait(wait), Step::Send(piece.to_owned())]);
    steps.collect()
}

fn millis(time: Option<Duration>) -> Option<u128> {
    time.map(|time| time.as_millis())
}

#[tokio::test(start_paused = true)]
async fn the_first_token_is_not_the_role() {
    let steps = paced(&[(10, ROLE), (390, REASONING), (500, TOKEN), (100, DONE)]);
    let record = one("/v1/chat/completions", event_stream(steps), 100).await;
    assert_eq!(millis(record.timing.first_byte), Some(10));
    assert_eq!(millis(record.timing.first_token), Some(400));
    assert_eq!(millis(record.timing.last_token), Some(900));
    assert_eq!(record.timing.total.as_millis(), 1000);
    assert_eq!(record.time_per_output_token(), None, "no counts");
}

#[tokio::test(start_paused = true)]
async fn chunks_are_not_tokens() {
    let counts = usage_event(7, 21);
    let steps = paced(&[
        (50, TOKEN),
        (100, TOKEN),
        (100, TOKEN),
        (100, TOKEN),
        (100, TOKEN),
        (9, &counts),
        (9, DONE),
    ]);
    let record = one("/v1/chat/completions", event_stream(steps), 100).await;
    assert_eq!(millis(record.time_per_output_token()), Some(20));
    let gaps: Vec<_> = record.gaps.means().map(|(mean, n)| (mean.as_millis(), n)).collect();
    assert_eq!(gaps, [(100, 4)]);
}

#[tokio::test(start_paused = true)]
async fn an_error_that_streams_has_no_first_token() {
    let mut response = event_stream(paced(&[(10, TOKEN)]));
    *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
    let record = one("/v1/chat/completions", response, 100).await;
    assert_eq!((record.timing.first_token, millis(record.timing.first_byte)), (None, Some(10)));
}

#[tokio::test(start_paused = true)]
async fn a_request_is_in_flight_until_its_body_ends() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let page = recorder.handle();
    let in_flight = |n: u32| {
        let line = format!("plimsoll_requests_in_flight{{endpoint=\"chat\"}} {n}");
        assert!(page.render().lines().any(|found| found == line), "{}", page.render());
    };
    let layer = MeterLayer::new(MetricsSink::new(Arc::new(recorder)));
    let service = layer.layer(service_fn(|_: Request<Body>| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok::<_, Infallible>(Response::new(scripted(paced(&[(1000, "{}")]))))
    }));
    let request = || Request::post("/v1/chat/completions").body(full("")).unwrap();
    in_flight(0);
    let response = service.clone().oneshot(request()).await.unwrap();
    in_flight(1);
    response.into_body().collect().await.unwrap();
    in_flight(0);

    let unanswered = tokio::time::timeout(Duration::from_millis(1), service.oneshot(request()));
    assert!(unanswered.await.is_err());
    in_flight(0);
    let left = "outcome=\"client_disconnect\",code=\"0\"} 1";
    assert!(page.render().lines().any(|line| line.ends_with(left)), "{}", page.render());
}
