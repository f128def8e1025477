//! The beginnings of a prompt that are remembered.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What of a prompt is looked at: what follows is taken to follow.
const LOOKED_AT: usize = 256 << 10;
/// The least step from one mark to the next; all but the last are multiples of it.
const STEP: usize = 16;
/// How far into a prompt of messages the first content may be,
const BEFORE_CONTENT: usize = 512;
/// and how far into that its text, where it is a list of parts that begins with text.
const BEFORE_TEXT: usize = 48;

/// One beginning of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// A hash of the beginning.
    pub(super) hash: u64,
    /// Its length in bytes.
    pub(super) end: usize,
    /// The bytes since the mark before.
    pub(super) bytes: usize,
}

/// Beginnings of one prompt, from short to long, each by an eighth longer than the one before, and
/// the whole of what is looked at: 77 of them at most.
#[derive(Debug)]
pub(super) struct Marks(Vec<Mark>);

// === impl Marks ===

impl Marks {
    pub(super) fn of(prompt: &[u8]) -> Self {
        let text = text(prompt);
        let text = &text[..text.len().min(LOOKED_AT)];
        let (mut marks, mut start, mut hash) = (Vec::new(), 0, 0);
        while start < text.len() {
            let end = (start + (start / 8 / STEP * STEP).max(STEP)).min(text.len());
            // The hash of a beginning is that of its last part, seeded with the hash of the rest:
            // every byte is hashed once.
            hash = xxh3_64_with_seed(&text[start..end], hash);
            marks.push(Mark { hash, end, bytes: end - start });
            start = end;
        }
        Self(marks)
    }

    pub(super) fn all(&self) -> &[Mark] {
        &self.0
    }

    /// Those that are more than a share of the whole.
    pub(super) fn beyond(&self, share: f64) -> &[Mark] {
        let whole = self.0.last().map_or(0, |mark| mark.end);
        let least = whole as f64 * share;
        &self.0[self.0.partition_point(|mark| mark.end as f64 <= least)..]
    }
}

/// The prompt from its first text on: all that is before it in a list of messages looks the same in
/// most prompts, which would make short ones look alike.
fn text(prompt: &[u8]) -> &[u8] {
    if !is_objects(prompt) {
        return prompt;
    }
    let Some(content) = after(prompt, b"\"content\"", BEFORE_CONTENT) else { return prompt };
    match content.trim_ascii_start().strip_prefix(b":") {
        Some(parts) if is_objects(parts) => {
            after(parts, b"\"text\":", BEFORE_TEXT).unwrap_or(content)
        }
        _ => content,
    }
}

/// Whether it is a list of objects.
fn is_objects(json: &[u8]) -> bool {
    let list = json.trim_ascii_start().strip_prefix(b"[");
    list.is_some_and(|list| list.trim_ascii_start().starts_with(b"{"))
}

/// What follows the first of those names, if it ends within `limit`.
fn after<'a>(json: &'a [u8], name: &[u8], limit: usize) -> Option<&'a [u8]> {
    let near = &json[..json.len().min(limit)];
    let start = near.windows(name.len()).position(|window| window == name)?;
    Some(&json[start + name.len()..])
}

#[cfg(test)]
mod tests {
    use super::{LOOKED_AT, Marks, text};

    fn ends(length: usize) -> Vec<usize> {
        let marks = Marks::of(&vec![b'a'; length]);
        let bytes: usize = marks.all().iter().map(|mark| mark.bytes).sum();
        assert_eq!(bytes, length.min(LOOKED_AT));
        marks.all().iter().map(|mark| mark.end).collect()
    }

    #[test]
    fn where_marks_are() {
        assert!(ends(0).is_empty());
        assert_eq!(ends(5), [5]);
        assert_eq!(ends(16), [16]);
        assert_eq!(ends(50), [16, 32, 48, 50]);
        assert_eq!(ends(300)[15..], [256, 288, 300]);
        let all = ends(1 << 20);
        assert_eq!((all.len(), all.last()), (77, Some(&LOOKED_AT)));
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] <= (pair[0] / 8).max(16)));
    }

    #[test]
    fn beginnings_are_the_same_as_long_as_the_prompts_are() {
        let one: Vec<u8> = (0..5_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut other = one.clone();
        other[9_000] ^= 1;
        let (one, other) = (Marks::of(&one), Marks::of(&other));
        for (one, other) in one.all().iter().zip(other.all()) {
            assert_eq!(one == other, one.end <= 9_000, "{one:?} {other:?}");
        }
    }

    #[test]
    fn shares() {
        let marks = Marks::of(&[b'a'; 64]);
        let ends = |share| marks.beyond(share).iter().map(|mark| mark.end).collect::<Vec<_>>();
        assert_eq!(ends(0.0), [16, 32, 48, 64]);
        assert_eq!(ends(0.25), [32, 48, 64]);
        assert_eq!(ends(0.9), [64]);
        assert!(ends(1.0).is_empty() && Marks::of(b"").beyond(0.3).is_empty());
    }

    #[test]
    fn where_text_begins() {
        for (prompt, expected) in [
            (r#""a text of \"content\"""#, r#""a text of \"content\"""#),
            ("[1,2,3]", "[1,2,3]"),
            (r#"["[{","b"]"#, r#"["[{","b"]"#),
            (r#"[{"role":"user","content":"hi"}]"#, r#":"hi"}]"#),
            (r#" [ {"role": "user", "content" : "hi"}]"#, r#" : "hi"}]"#),
            (r#"[{"content":[{"type":"text","text":"hi"}]}]"#, r#""hi"}]}]"#),
            (r#"[{"content":[{"type":"image"}]}]"#, r#":[{"type":"image"}]}]"#),
            (r#"[{"role":"tool"}]"#, r#"[{"role":"tool"}]"#),
        ] {
            assert_eq!(text(prompt.as_bytes()), expected.as_bytes());
        }
    }
}
