//! The hand-over of SGLang: both legs get the same bytes at the same time, and meet by room at the
//! prefill worker's bootstrap server.

use plimsoll_wire::{Engine, RequestPeek, Splice};

use crate::{RouteError, Worker, room::Rooms};

/// The longest list of prompts. Each has its host, port and room: 65,536 make some 4 MB.
const MAX_PROMPTS: usize = 1 << 16;

/// The body for both legs: the client's, with where and in which room the legs meet put in front.
///
/// A list of prompts gets lists, of its length and in its order.
///
/// # Errors
///
/// If there are too many prompts, or if more than one answer a prompt is asked for. The engine uses
/// one room for all samples of a prompt: such a request hangs, and can kill the scheduler (seen with
/// 0.5.23).
pub(crate) fn body(
    body: Splice,
    peek: &RequestPeek,
    prompts: Option<usize>,
    prefill: &Worker,
    rooms: &Rooms,
) -> Result<Splice, RouteError> {
    if peek.choices > 1 {
        let (choices, engine) = (peek.choices, Engine::Sglang);
        return Err(RouteError::Choices { choices, engine });
    }
    if let Some(prompts) = prompts.filter(|&prompts| prompts > MAX_PROMPTS) {
        return Err(RouteError::ManyPrompts { prompts, limit: MAX_PROMPTS });
    }
    let port = prefill.backend().bootstrap_port;
    let port = port.map_or_else(|| "null".to_owned(), |port| port.to_string());
    // A host name needs no escapes.
    let host = format!("\"{}\"", prefill.host());
    let members = [
        ("bootstrap_host", one_or_list(prompts, || host.clone())),
        ("bootstrap_port", one_or_list(prompts, || port.clone())),
        ("bootstrap_room", one_or_list(prompts, || rooms.next().to_string())),
    ];
    let members = members.each_ref().map(|(name, value)| (*name, value.as_str()));
    Ok(body.insert_members(peek.open, peek.empty, &members))
}

fn one_or_list(prompts: Option<usize>, value: impl Fn() -> String) -> String {
    match prompts {
        None => value(),
        Some(count) => {
            let values: Vec<_> = (0..count).map(|_| value()).collect();
            format!("[{}]", values.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use plimsoll_wire::{Backend, Endpoint, RequestPeek, Role};
    use serde_json::Value;

    use crate::{RouteError, RouterConfig, Worker, room::Rooms};

    fn sent(body: &'static str, port: Option<u16>) -> Result<String, RouteError> {
        let url = "http://[::1]:30000".into();
        let backend = Backend { url, role: Role::Prefill, bootstrap_port: port };
        let prefill = Worker::new(backend, &RouterConfig::new(vec![]), &Arc::default()).unwrap();
        let peek = RequestPeek::read(body.as_bytes()).unwrap();
        let body = Bytes::from_static(body.as_bytes()).into();
        let prompts = peek.prompts(Endpoint::Completions);
        let sent = super::body(body, &peek, prompts, &prefill, &Rooms::new())?;
        Ok(String::from_utf8(sent.into_bytes().to_vec()).unwrap())
    }

    #[test]
    fn the_body_is_the_clients_but_for_three_members() {
        let sent = sent(r#"{ "z":0.70,"a":123456789012345678901234567890}"#, Some(8998)).unwrap();
        let rest = r#", "z":0.70,"a":123456789012345678901234567890}"#;
        let front = r#"{"bootstrap_host":"::1","bootstrap_port":8998,"bootstrap_room":"#;
        let room = sent.strip_prefix(front).unwrap().strip_suffix(rest).unwrap();
        assert!(room.parse::<u64>().unwrap() < 1 << 63);
    }

    #[test]
    fn a_list_of_prompts_gets_a_room_each() {
        let sent = sent(r#"{"prompt":["a","b"]}"#, None).unwrap();
        let sent: Value = serde_json::from_str(&sent).unwrap();
        assert_eq!(sent["bootstrap_host"], serde_json::json!(["::1", "::1"]));
        assert_eq!(sent["bootstrap_port"], serde_json::json!([null, null]));
        assert_ne!(sent["bootstrap_room"][0], sent["bootstrap_room"][1]);
    }

    /// Short prompts would grow many times over.
    #[test]
    fn prompts_have_a_limit() {
        let body = |count| format!("{{\"prompt\":[{}]}}", vec!["\"\""; count].join(","));
        assert!(sent(body(super::MAX_PROMPTS).leak(), None).is_ok());
        let refused = sent(body(super::MAX_PROMPTS + 1).leak(), None);
        assert!(matches!(refused, Err(RouteError::ManyPrompts { .. })), "{refused:?}");
    }

    #[test]
    fn more_than_one_choice_is_refused() {
        for body in [r#"{"n":2}"#, r#"{"sampling_params":[{"n":"3"}]}"#] {
            assert!(matches!(sent(body, None), Err(RouteError::Choices { .. })), "{body}");
        }
    }
}
