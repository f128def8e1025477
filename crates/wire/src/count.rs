//! Token counts, one by one.

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

#[cfg(test)]
mod tests {
    use super::Count;
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
}
