//! The members of a JSON object, by where they stand in its bytes.
//!
//! The bytes are known to be one JSON object: whoever edits a body has looked into it before.

use std::ops::Range;

use bytes::Bytes;

use super::Splice;
use crate::json::{Json, span_in};

// === impl Splice ===

impl Splice {
    /// The object with these members at its front (values are JSON text, names need no escapes),
    /// and without those named in `dropped` and those that the new ones replace, however they are
    /// escaped and however often they stand there. Everything else stays as it is written, but for
    /// space between members.
    #[must_use]
    pub fn replace_members(self, dropped: &[&str], members: &[(&str, &str)]) -> Self {
        let body = self.into_bytes();
        let Some(open) = body.iter().position(|&byte| byte == b'{') else { return body.into() };
        let is_dropped = |name: &[u8]| {
            let mut names = dropped.iter().chain(members.iter().map(|(new, _)| new));
            names.any(|dropped| dropped.as_bytes() == name)
        };
        let mut kept: Vec<Range<usize>> = Vec::new();
        let (mut at, mut follows) = (open + 1, false);
        // The bytes are one object, so they are read to its end.
        let _ = Json::new(&body).object(|json, name| {
            let end = span_in(&body, json.raw()?).end;
            match kept.last_mut().filter(|_| follows) {
                _ if is_dropped(name) => follows = false,
                Some(run) => run.end = end,
                None => {
                    let between = |byte: &u8| *byte == b',' || byte.is_ascii_whitespace();
                    let space = body[at..end].iter().take_while(|byte| between(byte)).count();
                    kept.push(at + space..end);
                    follows = true;
                }
            }
            at = end;
            Some(())
        });
        let mut rest = Self::default();
        rest.push(body.slice(..=open));
        let is_empty = kept.is_empty();
        for (index, run) in kept.into_iter().enumerate() {
            if index > 0 {
                rest.push(Bytes::from_static(b","));
            }
            rest.push(body.slice(run));
        }
        rest.push(Bytes::from_static(b"}"));
        rest.insert_members(open, is_empty, members)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::Splice;

    const NAMES: [&str; 2] = ["stream_options", "min_tokens"];

    fn without(body: &str) -> String {
        let splice = Splice::from(Bytes::copy_from_slice(body.as_bytes()));
        String::from_utf8(splice.replace_members(&NAMES, &[]).into_bytes().to_vec()).unwrap()
    }

    #[test]
    fn the_rest_is_as_it_was_written() {
        for (body, want) in [
            (r#"{"a":0.70,"min_tokens":5 , "b" : [ 1 ] }"#, r#"{"a":0.70,"b" : [ 1 ]}"#),
            (r#"{"min_tokens":5}"#, "{}"),
            (r#" { "a" : 1 } "#, r#" {"a" : 1}"#),
            (r#"{"min_tokens":1,"min_tokens":2,"a":"}],\"b"}"#, r#"{"a":"}],\"b"}"#),
            (r#"{"m\u0069n_tokens":{"x":[{}]},"b":-1e9}"#, r#"{"b":-1e9}"#),
            (r#"{"a":{"min_tokens":1}}"#, r#"{"a":{"min_tokens":1}}"#),
            (
                r#"{"a":1, "b":2,"stream_options":null,"c":"\\","d":3}"#,
                r#"{"a":1, "b":2,"c":"\\","d":3}"#,
            ),
            ("{}", "{}"),
        ] {
            assert_eq!(without(body), want, "{body}");
        }
    }

    #[test]
    fn new_members_replace_those_of_their_name() {
        for (body, want) in [
            (r#"{"n":1,"a":0,"min_tokens":2}"#, r#"{"n":[2],"a":0}"#),
            (r#"{"n":1}"#, r#"{"n":[2]}"#),
            ("{}", r#"{"n":[2]}"#),
        ] {
            let splice = Splice::from(Bytes::from_static(body.as_bytes()));
            let replaced = splice.replace_members(&NAMES, &[("n", "[2]")]).into_bytes();
            assert_eq!(replaced, want, "{body}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[\\\\\"{}\\[\\],: a-z\u{e9}]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c\"\\\\]{1,2}", inner, 0..4)
                    .prop_map(|map| Value::from(Map::from_iter(map))),
            ]
        })
    }

    proptest! {
        #[test]
        fn only_what_is_named_is_missing(
            members in prop::collection::vec(("stream_options|min_tokens|[a-d\"\\\\]{1,3}", value()), 0..6),
            pretty in any::<bool>(),
        ) {
            let object = Map::from_iter(members);
            let body = if pretty {
                serde_json::to_string_pretty(&object).unwrap()
            } else {
                serde_json::to_string(&object).unwrap()
            };
            let kept: Map<_, _> =
                object.into_iter().filter(|(name, _)| !NAMES.contains(&name.as_str())).collect();
            let got: Value = serde_json::from_str(&without(&body)).unwrap();
            prop_assert_eq!(got, Value::from(kept));
        }
    }
}
