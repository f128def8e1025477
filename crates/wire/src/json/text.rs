//! The inside of strings, of which most of a JSON text consists.

/// A one in each byte.
const ONES: u64 = u64::MAX / 0xff;

/// How long the inside of a string is that begins here, and whether it has escapes. Half of a
/// surrogate pair passes here: it is for whoever decodes the string to refuse it.
pub(super) fn string(text: &[u8]) -> Option<(usize, bool)> {
    let length = plain(text);
    match text.get(length)? {
        b'"' => Some((length, false)),
        _ => Some((escaped_string(text, length)?, true)),
    }
}

/// How long the inside of a string is that begins here and has its first escape, or what must not be
/// in it, behind `plain` bytes.
#[inline(never)]
fn escaped_string(text: &[u8], plain: usize) -> Option<usize> {
    let mut rest = &text[plain..];
    loop {
        rest = match rest {
            [b'"', ..] => return Some(text.len() - rest.len()),
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', after @ ..] => after,
            [b'\\', b'u', a, b, c, d, after @ ..]
                if [a, b, c, d].into_iter().all(u8::is_ascii_hexdigit) =>
            {
                after
            }
            _ => return None,
        };
        rest = &rest[self::plain(rest)..];
    }
}

/// How many bytes there are before one that ends a string, begins an escape or must not be there.
#[inline]
fn plain(text: &[u8]) -> usize {
    let mut rest = text;
    while let Some((block, after)) = rest.split_first_chunk() {
        let found = special(u64::from_le_bytes(*block));
        if found != 0 {
            return text.len() - rest.len() + found.trailing_zeros() as usize / 8;
        }
        rest = after;
    }
    let tail = rest.iter().position(|&byte| special(byte.into()) & 0x80 != 0);
    text.len() - rest.len() + tail.unwrap_or(rest.len())
}

/// The high bit of each byte that is a quote, a backslash or a control character; of those behind the
/// first one it may be set too. (A subtraction borrows from the high bit of a byte that is less than
/// what is subtracted. A flip of one bit puts the quote right behind the control characters.)
#[inline]
fn special(block: u64) -> u64 {
    const FLIP: u64 = 0x02;
    let quote_or_control = (block ^ (ONES * FLIP)).wrapping_sub(ONES * 0x21);
    let backslash = (block ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (quote_or_control | backslash) & !block & (ONES << 7)
}
