//! The hand-over of vLLM over NIXL: one leg after the other.
//!
//! Prefill is asked for one token, and for the parameters by which decode fetches the KV cache from
//! it; decode gets the client's request with them. Both edits are those that the engine's own
//! proxies make, as seen with 0.32.0: a streamed first leg loses the parameters, and a body with
//! `min_tokens` above 1, or with `stream_options` where nothing is streamed, is refused.

use std::{future::poll_fn, pin::Pin, sync::Arc};

use http_body::Body;
use plimsoll_wire::{
    Endpoint, Engine, RequestPeek, Splice,
    reply::{Asked, ReplyReader},
    upstream::{PrefillReport, PrefillReporter},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{Head, LegBody, prefill::PrefillFailure};
use crate::{RouteError, Worker};

const PARAMS: &str = "kv_transfer_params";

/// Asks prefill to keep the KV cache for somebody else.
const ASK: &str = r#"{"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,"remote_block_ids":null,"remote_host":null,"remote_port":null}"#;

/// The largest answer of a prefill worker that is read, in bytes: a token and a list of blocks.
const MAX_ANSWER: usize = 16 << 20;

/// What prefill has done for a request.
#[derive(Clone, Debug)]
pub(crate) struct HandOver {
    /// The worker that holds the KV cache.
    pub(crate) prefill: Arc<Worker>,
    /// The parameters, as it wrote them. There are none where its one token was the last of the
    /// answer: decode reads the prompt itself then.
    params: Option<Box<str>>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    kv_transfer_params: Option<&'a RawValue>,
}

/// Whether a pair can serve the request at all.
///
/// # Errors
///
/// If it asks for several answers, or for answers to several prompts: prefill gives the parameters of
/// one, and the KV caches of the others stay with it until their lease ends.
pub(crate) fn check(endpoint: Endpoint, peek: &RequestPeek) -> Result<(), RouteError> {
    let engine = Engine::Vllm;
    match peek.prompts(endpoint) {
        _ if peek.choices > 1 => Err(RouteError::Choices { choices: peek.choices, engine }),
        Some(prompts) if prompts > 1 => Err(RouteError::Prompts { prompts, engine }),
        _ => Ok(()),
    }
}

/// The body for prefill: the client's, for one token in one piece.
pub(crate) fn prefill_body(body: Splice) -> Splice {
    let members =
        [("stream", "false"), ("max_tokens", "1"), ("max_completion_tokens", "1"), (PARAMS, ASK)];
    body.replace_members(&["stream_options", "min_tokens"], &members)
}

/// Reads prefill's answer to its end.
///
/// # Errors
///
/// If the leg fails, or if what it answers is no answer.
pub(crate) async fn hand_over(
    mut head: Head,
    endpoint: Endpoint,
    asked: Asked,
    reporter: PrefillReporter,
) -> Result<HandOver, PrefillFailure> {
    let started = Instant::now();
    head.withhold();
    let response = head.await.map_err(PrefillFailure::Error)?;
    if !response.status().is_success() {
        return Err(PrefillFailure::Answer(response.into()));
    }
    let mut body = response.into_body();
    let answer = whole(&mut body).await.map_err(PrefillFailure::Error)?;
    let params = match serde_json::from_slice::<Answer<'_>>(&answer) {
        Ok(answer) => answer.kv_transfer_params.map(|params| params.get().into()),
        Err(error) => return Err(PrefillFailure::Error(unreadable(&mut body, error.to_string()))),
    };
    body.accept();
    let mut reader = ReplyReader::new(endpoint, asked, false);
    reader.push(&answer.into(), |_| {});
    let usage = reader.finish(true, |_| {}).usage;
    reporter.send(PrefillReport { usage, duration: started.elapsed() });
    Ok(HandOver { prefill: body.worker().clone(), params })
}

/// The body for decode: the client's, with prefill's parameters.
pub(crate) fn decode_body(body: Splice, peek: Option<&RequestPeek>, given: &HandOver) -> Splice {
    match (&given.params, peek) {
        (None, _) => body,
        (Some(params), Some(peek)) if peek.steering.is_none() => {
            body.insert_members(peek.open, peek.empty, &[(PARAMS, params)])
        }
        // The client's own may be among its members.
        (Some(params), _) => body.replace_members(&[], &[(PARAMS, params)]),
    }
}

async fn whole(body: &mut LegBody) -> Result<Vec<u8>, RouteError> {
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        if let Ok(data) = frame?.into_data() {
            whole.extend_from_slice(&data);
        }
        if whole.len() > MAX_ANSWER {
            return Err(unreadable(body, format!("it has more than {MAX_ANSWER} bytes")));
        }
    }
    Ok(whole)
}

fn unreadable(body: &mut LegBody, fault: String) -> RouteError {
    body.report(|worker| RouteError::PrefillUnreadable { worker, fault })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::*;

    fn sent(body: &'static str) -> Value {
        let body = prefill_body(Bytes::from_static(body.as_bytes()).into());
        serde_json::from_slice(&body.into_bytes()).unwrap()
    }

    /// Fields that engines refuse, or that others have mistaken, one by one.
    #[test]
    fn prefill_is_asked_for_one_token_in_one_piece() {
        let ask: Value = serde_json::from_str(ASK).unwrap();
        for (body, kept) in [
            (r#"{"model":"m"}"#, json!({"model": "m"})),
            (r#"{"stream":true,"stream_options":{"include_usage":true}}"#, json!({})),
            (r#"{"min_tokens":5,"max_tokens":9,"top_p":0.5}"#, json!({"top_p": 0.5})),
            (r#"{"max_completion_tokens":7,"max_tokens":null}"#, json!({})),
            (r#"{"str\u0065am":true,"stream":1}"#, json!({})),
            (r#"{"kv_transfer_params":{"x":1},"n":1}"#, json!({"n": 1})),
            (
                r#"{"extra":{"stream":true},"prompt":"\"min_tokens\":3,"}"#,
                json!({"extra": {"stream": true}, "prompt": "\"min_tokens\":3,"}),
            ),
        ] {
            let mut want = json!({
                "stream": false, "max_tokens": 1, "max_completion_tokens": 1,
                "kv_transfer_params": ask,
            });
            for (name, value) in kept.as_object().unwrap() {
                want[name] = value.clone();
            }
            assert_eq!(sent(body), want, "{body}");
        }
    }

    #[test]
    fn what_one_hand_over_cannot_carry_is_refused() {
        for (body, fits) in [
            (r#"{"prompt":"a"}"#, true),
            (r#"{"prompt":["a"]}"#, true),
            (r#"{"prompt":[1,2,3]}"#, true),
            (r#"{"prompt":["a","b"]}"#, false),
            (r#"{"prompt":[[1],[2]]}"#, false),
            (r#"{"prompt":"a","n":2}"#, false),
            (r#"{"prompt":"a","best_of":2}"#, false),
        ] {
            let peek = RequestPeek::read(body.as_bytes()).unwrap();
            assert_eq!(check(Endpoint::Completions, &peek).is_ok(), fits, "{body}");
        }
    }
}
