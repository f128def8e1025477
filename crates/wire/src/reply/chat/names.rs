//! Members found by name, without parsing what stands around them.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// A search for one quoted name.
pub(super) type Name = LazyLock<Finder<'static>>;

pub(super) static CHOICES: Name = LazyLock::new(|| Finder::new("\"choices\""));
pub(super) static ERROR: Name = LazyLock::new(|| Finder::new("\"error\""));
pub(super) static FINISH_REASON: Name = LazyLock::new(|| Finder::new("\"finish_reason\""));
pub(super) static LOG_PROBS: Name = LazyLock::new(|| Finder::new("\"logprobs\""));
pub(super) static TOKEN_IDS: Name = LazyLock::new(|| Finder::new("\"token_ids\""));
pub(super) static USAGE: Name = LazyLock::new(|| Finder::new("\"usage\""));

/// The data from each value on that stands behind the name, at whatever depth.
///
/// Quotes inside JSON strings are escaped, so a hit is never inside one, and a string *value* of
/// that name is not followed by a colon.
pub(super) fn values<'a>(name: &'a Name, data: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    name.find_iter(data).filter_map(|at| {
        let rest = data[at + name.needle().len()..].trim_ascii_start();
        rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start)
    })
}
