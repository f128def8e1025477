//! Text that must not be shown.

use std::fmt;

use http::HeaderValue;

/// A key. Neither `Debug` nor `Display` shows it, so that it cannot reach a log or an error.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

// === impl Secret ===

impl Secret {
    /// The key itself, for the header that carries it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The header that carries it as a bearer. Keys are visible ASCII: the flags see to it.
    pub(crate) fn bearer(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
