//! Text that must not be shown.

use std::fmt;

use http::HeaderValue;

/// A key. Neither `Debug` nor `Display` shows it, so that it cannot reach a log or an error.
#[derive(Clone)]
pub(crate) struct Secret(String);

// === impl Secret ===

impl Secret {
    /// The key itself, for the header that carries it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// A header can carry it.
    pub(super) fn is_usable(&self) -> bool {
        !self.0.is_empty() && self.0.bytes().all(|byte| byte.is_ascii_graphic())
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

/// A text without what URLs in it have before their host: a name and a password. For what is shown
/// of words that may be anything.
pub(crate) fn without_user_info(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || c == '\'' || c == '"';
    text.split_inclusive(ends).map(bare).collect()
}

/// A word without a name and a password. Rather too little of it is shown than too much.
fn bare(word: &str) -> String {
    match word.rsplit_once('@') {
        Some((before, host)) if before.contains(':') => {
            let scheme = before.find("://").map_or("", |end| &before[..end + 3]);
            format!("{scheme}…@{host}")
        }
        _ => word.to_owned(),
    }
}
