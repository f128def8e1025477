//! Answers that break off: the best lower bound, and only that.

use plimsoll_wire::Usage;

use super::{DONE, ROLE, Step, TOKEN, event_stream, one, sent};
use crate::{Completeness, Outcome};

const CHAT: &str = "/v1/chat/completions";

fn choice(more: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,{more}}}]}}\n\n")
}

/// The counts so far in an event with text.
fn continuous(completion: u64) -> String {
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"x\"}}}}],\"usage\":{{\"prompt_tokens\":4,\"completion_tokens\":{completion}}}}}\n\n"
    )
}

#[tokio::test]
async fn the_best_honest_source_is_taken() {
    let logprobs = choice(
        r#""delta":{"content":"a b"},"logprobs":{"content":[{"token":"a"},{"token":" b"}]}"#,
    );
    let ids = choice(r#""delta":{"content":"a b c"},"token_ids":[1,2,3]"#);
    let (first, later) = (continuous(1), continuous(6));
    for (name, pieces, bound, stated) in [
        ("events with text", vec![ROLE, TOKEN, TOKEN], 2, None),
        ("log probabilities", vec![ROLE, &logprobs, TOKEN], 3, None),
        ("token numbers", vec![&ids, &ids], 6, None),
        ("cumulative counts", vec![&first, &later], 6, Some(6)),
        ("counts, then text without", vec![&first, TOKEN, TOKEN], 3, None),
        ("nothing", vec![ROLE], 0, None),
    ] {
        let steps = [sent(&pieces), vec![Step::Break]].concat();
        let record = one(CHAT, event_stream(steps), 99).await;
        assert_eq!(record.outcome, Outcome::UpstreamError, "{name}");
        assert_eq!(record.completeness, Completeness::Partial, "{name}");
        assert_eq!(record.completion_lower_bound, Some(bound), "{name}");
        assert_eq!(record.usage.completion, stated, "{name}");
    }
}

/// What a client may set (`max_tokens`) is no source, so the request is not looked at: a stream of
/// forty is forty.
#[tokio::test]
async fn a_bound_is_of_what_came() {
    let record = one(CHAT, event_stream(sent(&[TOKEN; 50])), 40).await;
    assert_eq!(record.completion_lower_bound, Some(40));
    assert_eq!(record.usage, Usage::default());
    assert_eq!(record.outcome, Outcome::ClientDisconnect);
}

#[tokio::test]
async fn bytes_that_are_no_event_are_counted_and_passed_over() {
    let pieces = [TOKEN, "data: Internal Server Error\n\n", DONE];
    let record = one(CHAT, event_stream(sent(&pieces)), 99).await;
    assert_eq!((record.outcome, record.anomalies), (Outcome::Complete, 1));
    assert_eq!(record.completeness, Completeness::Absent);
}
