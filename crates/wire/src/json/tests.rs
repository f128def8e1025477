use std::borrow::Cow;

use proptest::prelude::*;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{Json, once};

/// Pieces that make JSON, or nearly.
const PIECES: [&[u8]; 36] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\"a\"",
    b"\"b\":",
    b"\\",
    b"\\u",
    b"\\ud834",
    b"\\udd1e",
    b"\\n",
    b"\\x",
    b"0",
    b"1",
    b"-",
    b".",
    b"e",
    b"E+",
    b"7.5e-3",
    b"null",
    b"true",
    b"false",
    b"nul",
    b" ",
    b"\n",
    b"\t",
    b"\x0c",
    b"\x00",
    b"\xc3\xa9",
    b"\xc3",
    b"\xff",
    b"plain text",
    b"1959,",
];

/// An object's members in their order, whatever their values are.
fn members(json: &mut Json<'_>) -> Option<Vec<(String, Vec<u8>)>> {
    let mut members = Vec::new();
    json.object(|json, name| {
        let name = String::from_utf8(name.to_vec()).unwrap();
        members.push((name, json.raw()?.to_vec()));
        Some(())
    })?;
    Some(members)
}

struct Members(Vec<(String, Vec<u8>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key()? {
                    let value: &RawValue = map.next_value()?;
                    members.push((name, value.get().as_bytes().to_vec()));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Visitor)
    }
}

#[track_caller]
fn assert_as_serde(text: &[u8]) {
    let seen = String::from_utf8_lossy(text);
    let skipped = Json::whole(text, Json::skip);
    assert_eq!(skipped.is_some(), serde_json::from_slice::<IgnoredAny>(text).is_ok(), "{seen}");
    let raw = Json::whole(text, Json::raw);
    let want = serde_json::from_slice::<&RawValue>(text).ok();
    assert_eq!(raw, want.map(|raw| raw.get().as_bytes()), "{seen}");
    let string = Json::whole(text, Json::string).map(Cow::into_owned);
    assert_eq!(string, serde_json::from_slice(text).ok(), "{seen}");
    let list = Json::whole(text, |json| json.list(Json::skip));
    let want = serde_json::from_slice::<Vec<IgnoredAny>>(text);
    assert_eq!(list.is_some(), want.is_ok(), "{seen}");
    let object = Json::whole(text, members);
    assert_eq!(object, serde_json::from_slice(text).ok().map(|Members(want)| want), "{seen}");
    let lenient = Json::whole(text, |json| json.lenient(Json::string));
    let want = serde_json::from_slice::<&RawValue>(text).ok();
    let want = want.map(|raw| serde_json::from_str::<String>(raw.get()).ok());
    assert_eq!(lenient.map(|string| string.map(Cow::into_owned)), want, "{seen}");
}

#[test]
fn what_is_json_is_as_serde_has_it() {
    for text in [
        "",
        " ",
        "{}",
        " [ ] ",
        "{\"a\":1,}",
        "[1,]",
        "[,]",
        "{,}",
        "{\"a\"}",
        "{\"a\" 1}",
        "{1:2}",
        "[1 2]",
        "[}",
        "{]",
        "[[]",
        "[]]",
        "01",
        "-01",
        "-",
        "-a",
        "1.",
        ".5",
        "1e",
        "1e+",
        "1E-7",
        "1.5e3x",
        "nullx",
        "nul",
        "tru",
        "\"\\u12g4\"",
        "\"\\u123\"",
        "\"\\ud834\"",
        "\"\\ud834\\udd1e\"",
        "\"a\tb\"",
        "\"0123456\\\"\"",
        "\"01234567\x1f\"",
        "\"\u{7f}\u{80}\"",
        "\u{feff}{}",
        "{\"\\ud800\":1}",
        "{\"\\u0061\":\"\\/\"}",
        "NaN",
        "[1]x",
        "[12,3,45]",
        "[12,3,]",
        "[12,03]",
        "[12,,3]",
        "[12, 3 ,4.5,6]",
        "{\"a\":12,13}",
        "\"abc",
        "{\"a\":{\"b\":[{\"c\":null}]}}",
        "[1e999]",
    ] {
        assert_as_serde(text.as_bytes());
    }
    assert_as_serde(b"\"\xff\"");
    assert_as_serde(b"{\"\xff\":1}");
    assert_as_serde(b"[\"\xc3\xa9\",\"\xff\"]");
}

#[test]
fn values_nest_as_deep_as_they_like() {
    for depth in [1, 63, 64, 65, 127, 128, 129, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
            let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            assert!(Json::whole(deep.as_bytes(), Json::skip).is_some(), "{open} {depth}");
            for wrong in [&deep[..deep.len() - 1], &format!("{deep}]"), &deep.replace("1}", "1]")] {
                let is_json = serde_json::from_str::<IgnoredAny>(wrong).is_ok();
                let skipped = Json::whole(wrong.as_bytes(), Json::skip);
                assert_eq!(skipped.is_some(), is_json, "{open} {depth}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_passed_over() {
    let read = |text: &str| {
        let mut found = None;
        let read = Json::whole(text.as_bytes(), |json| {
            json.object(|json, name| match name {
                b"a" => once(&mut found, json.lenient(Json::string)?),
                _ => json.skip(),
            })
        });
        read.and(found).map(|string| string.map(Cow::into_owned))
    };
    assert_eq!(read(r#"{"b":1,"\u0061":"x"}"#), Some(Some("x".to_owned())));
    for text in [r#"{"a":[{"a":"x"}]}"#, r#"{"a":null}"#, r#"{"a":"\ud800"}"#] {
        assert_eq!(read(text), Some(None), "{text}");
    }
    for text in [r#"{"a":"x","a":"x"}"#, r#"{"a":[}"#, r#"{"a":nul}"#, "{}", "[]"] {
        assert_eq!(read(text), None, "{text}");
    }
}

/// JSON, changed in a few places.
fn changed() -> impl Strategy<Value = Vec<u8>> {
    let value = prop::collection::vec(
        ("[a-e\\\\\"\u{1}-\u{1f}\u{e9}\u{1d11e}]{0,40}", any::<f64>(), any::<i64>()),
        0..4,
    );
    let text = (value, any::<bool>()).prop_map(|(value, is_pretty)| match is_pretty {
        true => serde_json::to_vec_pretty(&value).unwrap(),
        false => serde_json::to_vec(&value).unwrap(),
    });
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    (text, changes).prop_map(|(mut text, changes)| {
        for (at, byte) in changes {
            let at = at.index(text.len());
            text[at] = byte;
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn pieces_are_read_as_serde_reads_them(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..12),
        quote in any::<bool>(),
    ) {
        let text = pieces.concat();
        assert_as_serde(&if quote { [b"\"", &text[..], b"\""].concat() } else { text });
    }

    #[test]
    fn changed_json_too(text in changed()) {
        assert_as_serde(&text);
    }
}
