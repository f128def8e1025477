//! The legs of a pair, by the protocol that its engines speak.

use plimsoll_wire::{
    Endpoint, Engine, Upstream,
    reply::Asked,
    upstream::{PrefillReply, PrefillReporter},
};

use super::{Attempted, Dispatch};
use crate::{
    RetryReason, RouteError,
    client::Reuse,
    legs::{
        lone,
        nixl::{self, HandOver},
        pair,
        prefill::Prefill,
        sglang,
    },
    workers::Place,
};

// === impl Dispatch ===

impl Dispatch {
    /// Asks a prefill and a decode worker.
    ///
    /// # Errors
    ///
    /// If they could not serve the request, before anything is sent.
    pub(super) async fn pair(
        &self,
        prefill: Place,
        decode: Place,
        reuse: Reuse,
        way: &mut Upstream,
    ) -> Result<Attempted, RouteError> {
        let told = prefill.worker().engine().or(decode.worker().engine());
        let engine = self.router.cluster().config().engine.or(told).unwrap_or(Engine::Sglang);
        let (reporter, reply) = PrefillReply::channel();
        let set_out = |prefill: &Place, decode: &Place| {
            way.prefill = Some(prefill.worker().url().clone());
            way.decode = Some(decode.worker().url().clone());
            way.prefill_reply = Some(reply);
            self.set_out(way);
        };
        match engine {
            Engine::Sglang => {
                let mut body = self.body.clone();
                if let Some(peek) = self.slot.get() {
                    let (prompts, rooms) =
                        (peek.prompts(self.endpoint), self.router.cluster().rooms());
                    body = sglang::body(body, peek, prompts, prefill.worker(), rooms)?;
                }
                set_out(&prefill, &decode);
                let (reader, writer) = (prefill.worker().clone(), decode.worker().clone());
                let head =
                    self.router.head(prefill, Some(writer), &self.parts, body.clone(), reuse);
                let prefill = Prefill::new(head, self.endpoint, self.asked(), reporter);
                let decode = self.router.head(decode, Some(reader), &self.parts, body, reuse);
                Ok(pair::answer(prefill, decode, self.router.cluster().tails()).await)
            }
            Engine::Vllm => {
                if self.endpoint == Endpoint::Generate {
                    let path = self.parts.uri.path().to_owned();
                    return Err(RouteError::NotPaired { path, engine: Some(engine) });
                }
                if let Some(peek) = self.slot.get() {
                    nixl::check(self.endpoint, peek)?;
                }
                set_out(&prefill, &decode);
                Ok(self.in_turn(prefill, decode, reuse, reporter).await)
            }
        }
    }

    /// Asks prefill, then decode.
    async fn in_turn(
        &self,
        prefill: Place,
        decode: Place,
        reuse: Reuse,
        reporter: PrefillReporter,
    ) -> Attempted {
        let body = nixl::prefill_body(self.body.clone());
        let head = self.router.head(prefill, None, &self.parts, body, reuse);
        match nixl::hand_over(head, self.endpoint, self.asked(), reporter).await {
            Ok(handed_over) => self.decode(decode, handed_over, reuse).await,
            Err(failure) => failure.into_attempted(),
        }
    }

    /// Asks decode to go on where prefill has ended.
    pub(super) async fn decode(
        &self,
        decode: Place,
        handed_over: HandOver,
        reuse: Reuse,
    ) -> Attempted {
        let body = nixl::decode_body(self.body.clone(), self.slot.get(), &handed_over);
        let head = self.router.head(decode, None, &self.parts, body, reuse);
        let mut attempted = lone::answer(head).await;
        if let Attempted::Failed(failure) = &mut attempted {
            // Once decode has the parameters, it may have fetched the cache, which goes once.
            if failure.reason == RetryReason::ConnectError {
                failure.handed_over = Some(handed_over);
            }
        }
        attempted
    }

    fn asked(&self) -> Asked {
        self.slot.get().map(|peek| peek.asked(self.endpoint)).unwrap_or_default()
    }
}
