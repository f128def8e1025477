//! What an engine says of its own error, for those who look for the cause.

use serde_json::Value;

/// How much of it is told, in characters.
const MAX: usize = 300;

/// The message of an error, as far as it stands in one piece of a reply: an answer, or an event. It is
/// one line, whatever the engine writes.
pub(super) fn message(piece: &[u8]) -> Option<String> {
    let events = piece.split(|&byte| byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
    let texts = events.chain([piece]);
    texts.filter_map(|text| serde_json::from_slice(text).ok()).find_map(|value| of(&value))
}

fn of(value: &Value) -> Option<String> {
    let places = ["/error/message", "/error", "/message", "/meta_info/finish_reason/message"];
    let text = places.iter().find_map(|place| value.pointer(place)?.as_str())?;
    let is_printed = |c: char| if c.is_control() { ' ' } else { c };
    Some(text.chars().take(MAX).map(is_printed).collect())
}

#[cfg(test)]
mod tests {
    use super::{MAX, message};

    #[test]
    fn it_is_found_in_each_form() {
        for (piece, want) in [
            (r#"{"error":{"message":"m\nn","code":1}}"#, Some("m n")),
            (r#"{"object":"error","message":"m"}"#, Some("m")),
            ("data: {}\n\ndata: {\"error\":\"m\"}\n\n", Some("m")),
            (
                r#"{"text":"","meta_info":{"finish_reason":{"type":"abort","message":"m"}}}"#,
                Some("m"),
            ),
            ("{", None),
            (r#"{"error":{"code":1}}"#, None),
        ] {
            assert_eq!(message(piece.as_bytes()).as_deref(), want, "{piece}");
        }
        let long = format!("{{\"message\":\"{}\"}}", "é".repeat(MAX + 1));
        assert_eq!(message(long.as_bytes()), Some("é".repeat(MAX)));
    }
}
