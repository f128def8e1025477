//! The inside of strings, of which most of a JSON text consists.

use memchr::memchr2;

/// A one in each byte.
const ONES: u64 = u64::MAX / 0xff;

/// How many bytes are looked at here before a search is called, whose call costs more than most
/// strings are long.
const NEAR: usize = 128;

/// How long the inside of a string is that begins here, and whether it has escapes. Half of a
/// surrogate pair passes here: it is for whoever decodes the string to refuse it.
#[inline]
pub(super) fn string(text: &[u8]) -> Option<(usize, bool)> {
    let length = plain(text);
    match text.get(length)? {
        b'"' => Some((length, false)),
        _ => Some((escaped_string(text, length)?, true)),
    }
}

/// The length of one whose first escape stands behind so many bytes.
#[inline(never)]
fn escaped_string(text: &[u8], plain_bytes: usize) -> Option<usize> {
    let mut length = plain_bytes;
    loop {
        length += match text.get(length..)? {
            [b'"', ..] => return Some(length),
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
            [b'\\', b'u', a, b, c, d, ..]
                if [a, b, c, d].into_iter().all(u8::is_ascii_hexdigit) =>
            {
                6
            }
            _ => return None,
        };
        length += plain(text.get(length..)?);
    }
}

/// How many bytes there are before one that ends a string, begins an escape or must not be there.
#[inline]
fn plain(text: &[u8]) -> usize {
    let near = text.get(..NEAR).unwrap_or(text);
    let mut rest = near;
    while let Some((block, after)) = rest.split_first_chunk() {
        let found = special(u64::from_le_bytes(*block));
        if found != 0 {
            return near.len() - rest.len() + found.trailing_zeros() as usize / 8;
        }
        rest = after;
    }
    let seen = near.len() - rest.len();
    seen + plain_by_search(&text[seen..])
}

#[inline(never)]
fn plain_by_search(text: &[u8]) -> usize {
    let length = memchr2(b'"', b'\\', text).unwrap_or(text.len());
    let is_control = |byte: &u8| *byte < b' ';
    // All are looked at, as many can be at once; only then is it asked which.
    if text[..length].iter().fold(false, |found, byte| found | is_control(byte)) {
        return text.iter().position(is_control).unwrap_or(length);
    }
    length
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
