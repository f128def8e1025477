//! `bootstrap_host`, `bootstrap_port` and `bootstrap_room` of a request.

use http::HeaderMap;
use serde_json::{Map, Value};

use super::problem::Problem;
use crate::bootstrap::nixl::Source;

/// Where the halves of a pair meet for one prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) id: u64,
}

/// How one sequence meets the other half of the pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// No room was named.
    None,
    /// In a room of its own.
    In(Room),
    /// In the one room all `n` samples of a prompt share. SGLang accepts that and never gets it
    /// done: prefill answers, decode waits until its time is up. (The real decode hangs longer
    /// still, and either scheduler may die; the simulation stops at the time limit.)
    Shared(Room),
    /// vLLM prefill: by keeping the KV under an id.
    Keep(String),
    /// vLLM decode: by fetching what prefill keeps.
    Fetch(Source),
    /// vLLM decode: told to fetch, but not where. That is the engine's end.
    Broken,
}

// === impl Meeting ===

impl Meeting {
    /// The room's number, 0 where there is none.
    pub(crate) fn room_id(&self) -> u64 {
        match self {
            Self::In(room) | Self::Shared(room) => room.id,
            Self::None | Self::Keep(_) | Self::Fetch(_) | Self::Broken => 0,
        }
    }
}

/// The room of each of `prompts` prompts, `None` when the request names none.
///
/// Lists must have one entry a prompt; a single room is counted up from prompt to prompt. The
/// `x-override-bootstrap-*` headers go before the body. `default_port` stands for a null port.
pub(super) fn of_request(
    body: &Map<String, Value>,
    headers: &HeaderMap,
    prompts: usize,
    default_port: u16,
) -> Result<Option<Vec<Room>>, Problem> {
    let field = |name: &str| {
        let header = headers.get(format!("x-override-bootstrap-{name}"));
        let header = header.and_then(|value| value.to_str().ok()).map(Value::from);
        header.or_else(|| body.get(&format!("bootstrap_{name}")).cloned()).unwrap_or_default()
    };
    let (host, port, room) = (field("host"), field("port"), field("room"));
    if room.is_null() || host.is_null() {
        return Ok(None);
    }
    for (name, value) in [("host", &host), ("port", &port), ("room", &room)] {
        if value.as_array().is_some_and(|list| list.len() != prompts) {
            return Err(Problem::bad(format!(
                "The length of bootstrap_{name} should be equal to the batch size."
            )));
        }
    }
    let rooms = (0..prompts).map(|at| {
        let port = item(&port, at);
        let port = if port.is_null() { Some(default_port.into()) } else { number(port) };
        let id = number(item(&room, at))?;
        Some(Room {
            host: item(&host, at).as_str()?.to_owned(),
            port: port?.try_into().ok()?,
            id: if room.is_array() { id } else { id.wrapping_add(at as u64) },
        })
    });
    Ok(rooms.collect())
}

fn item(value: &Value, at: usize) -> &Value {
    value.get(at).unwrap_or(value)
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rooms(body: Value, prompts: usize) -> Result<Option<Vec<Room>>, Problem> {
        of_request(body.as_object().unwrap(), &HeaderMap::new(), prompts, 8998)
    }

    fn ids(body: Value, prompts: usize) -> Vec<u64> {
        rooms(body, prompts).unwrap().unwrap().iter().map(|room| room.id).collect()
    }

    #[test]
    fn a_list_names_each_room_and_a_number_counts_up() {
        let list = json!({"bootstrap_host": ["a", "b"], "bootstrap_port": [1, 2],
            "bootstrap_room": [7, 3]});
        assert_eq!(ids(list.clone(), 2), [7, 3]);
        assert!(rooms(list, 3).is_err());
        let one = json!({"bootstrap_host": "a", "bootstrap_port": null, "bootstrap_room": 7});
        assert_eq!(ids(one.clone(), 3), [7, 8, 9]);
        assert_eq!(rooms(one, 1).unwrap().unwrap()[0].port, 8998);
    }

    #[test]
    fn no_room_is_no_error_yet() {
        assert_eq!(rooms(json!({"bootstrap_host": "a"}), 1).unwrap(), None);
    }

    #[test]
    fn headers_go_first() {
        let mut headers = HeaderMap::new();
        headers.insert("x-override-bootstrap-host", "h".parse().unwrap());
        headers.insert("x-override-bootstrap-port", "9".parse().unwrap());
        headers.insert("x-override-bootstrap-room", "11".parse().unwrap());
        let rooms = of_request(&Map::new(), &headers, 1, 8998).unwrap().unwrap();
        assert_eq!(rooms, [Room { host: "h".to_owned(), port: 9, id: 11 }]);
    }
}
