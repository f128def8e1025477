//! Clients that go on asking, whatever they get, and hold what they get against what is right.

use std::{cell::RefCell, collections::BTreeMap, time::Duration};

use futures_util::future;
use tokio::time::{Instant, sleep};

use super::CHAT;
use crate::support::{Answer, Plimsoll, chat, common};

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// The whole stream.
    Whole,
    /// The beginning of it, and an event that says why there is no more.
    Broken,
    /// An answer of this status.
    Refused(u16),
}

/// The fates of all requests, by id.
pub(super) type Fates = BTreeMap<String, Fate>;

/// A request, and the stream that answers it.
struct Ask {
    body: String,
    want: String,
}

/// What there is to ask.
pub(super) struct Asks(Vec<Ask>);

/// What an answer is; fails if it is nothing that a client may get.
#[track_caller]
fn judge(answer: &Answer, want: &str) -> Fate {
    let text = answer.text();
    assert!(answer.complete, "{} {text}", answer.status);
    if answer.status != 200 {
        assert!(matches!(answer.status, 408 | 429 | 500 | 502..=504), "{} {text}", answer.status);
        assert!(answer.json()["error"].is_object(), "{text}");
        return Fate::Refused(answer.status);
    }
    let Some(at) = text.find("data: {\"error\"") else {
        assert_eq!(common(&text), want);
        return Fate::Whole;
    };
    let (begun, error) = text.split_at(at);
    assert!(error.ends_with("}\n\n") && error.matches('\n').count() == 2, "{text}");
    // An open line was ended.
    let ended = |end| common(begun).strip_suffix(end).is_some_and(|begun| want.starts_with(begun));
    assert!(["", "\n", "\n\n"].into_iter().any(ended), "{text}\n\nis no beginning of\n\n{want}");
    Fate::Broken
}

// === impl Asks ===

impl Asks {
    /// Asks each once, while nothing disturbs.
    pub(super) async fn learn(router: &Plimsoll, count: u32) -> Self {
        let asks = (0..count).map(async |number| {
            let words = "one two three four five".split(' ').cycle().take(3 + number as usize % 7);
            let prompt = format!("{number} {}", words.collect::<Vec<_>>().join(" "));
            let tokens = 5 + number * 7 % 30;
            let body = chat(&format!(",\"stream\":true,\"max_tokens\":{tokens}"));
            let body = body.replace("Hello world", &prompt);
            let answer = router.post(CHAT, body.clone()).send().await;
            let want = answer.text();
            assert!(answer.complete && want.ends_with("data: [DONE]\n\n"), "{want}");
            Ask { body, want: common(&want) }
        });
        Self(future::join_all(asks).await)
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Asks the question of this number.
    pub(super) async fn ask(&self, router: &Plimsoll, number: usize, id: &str) -> Fate {
        let Ask { body, want } = &self.0[number % self.0.len()];
        let call = router.post(CHAT, body.clone()).header("x-request-id", id);
        judge(&call.send().await, want)
    }

    /// So many clients, each of which asks anew when it has an answer, until `end`.
    pub(super) async fn keep_asking(
        &self,
        router: &Plimsoll,
        clients: usize,
        end: Instant,
    ) -> Fates {
        let fates = RefCell::new(Fates::new());
        let clients = (0..clients).map(async |client| {
            let mut number = client;
            while Instant::now() < end {
                let id = format!("c-{client}-{number}");
                let fate = self.ask(router, number, &id).await;
                fates.borrow_mut().insert(id, fate);
                if let Fate::Refused(_) = fate {
                    sleep(Duration::from_millis(50)).await;
                }
                number += 1;
            }
        });
        future::join_all(clients).await;
        fates.into_inner()
    }
}
