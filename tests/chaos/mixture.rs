//! Clients of every kind.

use std::{cell::RefCell, ops::Add, time::Duration};

use futures_util::future;
use tokio::time::{Instant, sleep};

use super::CHAT;
use crate::support::{Call, Plimsoll, chat};

const CLIENTS: usize = 24;

/// What clients have done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// Requests that are accounted for.
    pub(super) metered: u64,
    /// Others: the router's own routes.
    other: u64,
    /// Answers that were read to their end.
    whole: u64,
    /// Clients that left within an answer.
    left: u64,
}

/// What a client does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// Reads its answer.
    Read,
    /// Leaves once the answer has begun.
    Leave,
    /// Asks for something that is not accounted for.
    Look,
}

/// Draws what clients do.
pub(super) struct Mixture(RefCell<fastrand::Rng>);

// === impl Mixture ===

impl Mixture {
    pub(super) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed).into())
    }

    /// Clients ask until `end`; some of them leave early, if they may.
    pub(super) async fn ask_until(&self, router: &Plimsoll, end: Instant, may_leave: bool) -> Sent {
        let clients = (0..CLIENTS).map(async |_| {
            let mut sent = Sent::default();
            while Instant::now() < end {
                sent = sent + self.ask(router, may_leave).await;
                let pause = self.0.borrow_mut().u64(..100);
                sleep(Duration::from_millis(pause)).await;
            }
            sent
        });
        future::join_all(clients).await.into_iter().fold(Sent::default(), Add::add)
    }

    async fn ask(&self, router: &Plimsoll, may_leave: bool) -> Sent {
        let (deed, call) = self.draw(router, may_leave);
        let mut sent = Sent::default();
        match deed {
            Deed::Look => sent.other = 1,
            Deed::Read | Deed::Leave => sent.metered = 1,
        }
        if deed == Deed::Leave {
            call.open().await.until("\r\n\r\n").await;
            sent.left = 1;
        } else {
            let answer = call.send().await;
            assert!(answer.complete, "{} {}", answer.status, answer.text());
            sent.whole = 1;
        }
        sent
    }

    fn draw(&self, router: &Plimsoll, may_leave: bool) -> (Deed, Call) {
        let mut random = self.0.borrow_mut();
        let tokens = random.u32(1..30);
        let number = random.u32(..1000);
        let body = |more: &str| {
            chat(&format!(",\"user\":\"{number}\",\"max_tokens\":{tokens}{more}"))
                .replace("Hello", &"Hello ".repeat(number as usize % 40))
        };
        let stream = ",\"stream\":true";
        match random.u32(..20) {
            0 => (Deed::Look, router.get("/v1/models")),
            1 => (Deed::Look, router.get("/workers")),
            2 => (Deed::Look, router.get("/nowhere")),
            3 => (Deed::Read, router.post(CHAT, "{\"model\":")),
            4 => (Deed::Read, router.post(CHAT, body(",\"bootstrap_room\":1"))),
            5..8 if may_leave => (Deed::Leave, router.post(CHAT, body(stream))),
            5..10 => (Deed::Read, router.post(CHAT, body(""))),
            10..14 => {
                let counted = ",\"stream\":true,\"stream_options\":{\"include_usage\":true}";
                (Deed::Read, router.post(CHAT, body(counted)))
            }
            14..16 => {
                let prompt = format!("{{\"prompt\":\"{number} \",\"max_tokens\":{tokens}}}");
                (Deed::Read, router.post("/v1/completions", prompt))
            }
            _ => (Deed::Read, router.post(CHAT, body(stream))),
        }
    }
}

// === impl Sent ===

impl Add for Sent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            metered: self.metered + other.metered,
            other: self.other + other.other,
            whole: self.whole + other.whole,
            left: self.left + other.left,
        }
    }
}
