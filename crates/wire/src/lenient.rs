//! Values that may be anything: engines and clients are not held to a schema here, and a wrong
//! type in one member must not lose its neighbours.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::json::Json;

/// A token count as an engine wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Count {
    /// Not there, or null.
    #[default]
    Absent,
    Given(u64),
    /// Negative, fractional, beyond 2^53, or no number at all.
    Malformed,
}

/// No count is larger: up to here every whole number has an `f64` of its own, and sums of counts stay
/// far from the end of 64 bits.
const MAX: u64 = 1 << 53;

/// A value of the wanted type, or `None` for any other. Where null is usual, the wanted type is an
/// `Option`: a value that does not fit costs allocations.
#[derive(Debug)]
pub(crate) struct Lenient<T>(pub(crate) Option<T>);

// === impl Count ===

impl Count {
    pub(crate) fn read(json: &mut Json<'_>) -> Option<Self> {
        match json.peek()? {
            b'n' => json.skip().map(|()| Self::Absent),
            b'"' => json.string().map(|_| Self::Malformed),
            b'{' => json.object(|json, _| json.skip()).map(|()| Self::Malformed),
            b'-' | b'0'..=b'9' => Self::of_number(json.raw()?),
            _ => json.skip().map(|()| Self::Malformed),
        }
    }

    /// `None` where a number is larger than any `f64`.
    fn of_number(text: &[u8]) -> Option<Self> {
        let whole = text.iter().try_fold(0_u64, |whole, byte| match byte {
            b'0'..=b'9' => whole.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
            _ => None,
        });
        let count = match whole {
            Some(count) => count,
            None => {
                let number: f64 = serde_json::from_slice(text).ok()?;
                if number.fract() != 0.0 || !(0.0..=MAX as f64).contains(&number) {
                    return Some(Self::Malformed);
                }
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "in range"
                )]
                (number as u64)
            }
        };
        Some(if count <= MAX { Self::Given(count) } else { Self::Malformed })
    }

    pub(crate) fn get(self) -> Option<u64> {
        match self {
            Self::Given(count) => Some(count),
            Self::Absent | Self::Malformed => None,
        }
    }

    /// This count, or the other where this one is not there.
    pub(crate) fn or(self, other: Self) -> Self {
        if self == Self::Absent { other } else { self }
    }
}

// === impl Lenient ===

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(raw.get()).ok()))
    }
}

/// Reads an object. (A derived type would take a list for one, by position.)
pub(crate) fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Lenient<Option<T>>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    let read = !raw.get().starts_with('[');
    Ok(Lenient(read.then(|| serde_json::from_str(raw.get()).ok()).flatten()))
}

/// Reads a list of objects.
pub(crate) fn objects<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Lenient<Vec<T>>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    let inside = raw.get().strip_prefix('[').map(str::trim_ascii_start);
    let read = inside.is_some_and(|inside| inside.starts_with(['{', ']']));
    Ok(Lenient(read.then(|| serde_json::from_str(raw.get()).ok()).flatten()))
}

/// An object that is all of the data; `None` for anything else.
pub(crate) fn whole_object<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Option<T> {
    let is_object = data.trim_ascii_start().starts_with(b"{");
    is_object.then(|| serde_json::from_slice(data).ok())?
}

#[cfg(test)]
mod tests {
    use super::{Count, Lenient};
    use crate::json::Json;

    #[test]
    fn counts() {
        for (text, want) in [
            ("7", Count::Given(7)),
            ("7.0", Count::Given(7)),
            ("9007199254740992", Count::Given(1 << 53)),
            ("9007199254740993", Count::Malformed),
            ("18446744073709551615", Count::Malformed),
            ("null", Count::Absent),
            ("-1", Count::Malformed),
            ("0.5", Count::Malformed),
            ("1e99", Count::Malformed),
            ("18446744073709551616", Count::Malformed),
            ("true", Count::Malformed),
            ("\"n/a\"", Count::Malformed),
            ("[1,[2]]", Count::Malformed),
            ("{\"a\":1}", Count::Malformed),
            ("-0", Count::Given(0)),
            ("7e0", Count::Given(7)),
        ] {
            assert_eq!(Json::whole(text.as_bytes(), Count::read), Some(want), "{text}");
        }
    }

    #[test]
    fn what_serde_json_does_not_read_is_no_count() {
        for text in ["1e999", &"9".repeat(400), "\"\\ud800\"", "{\"\\ud800\":1}", "01", "[", "tru"]
        {
            assert_eq!(Json::whole(text.as_bytes(), Count::read), None, "{text}");
        }
    }

    #[test]
    fn a_wrong_type_is_none() {
        let given: Lenient<Vec<u8>> = serde_json::from_str("[1]").unwrap();
        assert_eq!(given.0, Some(vec![1]));
        let other: Lenient<Vec<u8>> = serde_json::from_str("{\"a\":[]}").unwrap();
        assert_eq!(other.0, None);
    }
}
