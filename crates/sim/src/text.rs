//! The simulated tokenizer and language model.
//!
//! A token is a piece of at most four bytes of a word, a word keeping the white space after it.
//! That is near enough to a real tokenizer's counts for English, and equal prefixes of texts that
//! end at white space have equal tokens, which is what a prefix cache needs.

/// A token's number.
pub(crate) type Token = u32;

/// The id of the end-of-sequence token, told as `matched_stop`.
pub(crate) const EOS: Token = 2;

/// Output tokens are numbered from here on.
const FIRST_WORD: Token = 1000;

const WORDS: [&str; 48] = [
    " the", " ship", " loads", " cargo", " to", " its", " line", " and", " no", " further",
    " when", " water", " is", " calm", " a", " harbour", " pilot", " reads", " marks", " on",
    " hull", " in", " winter", " north", " sea", " heavy", " engine", " tokens", " flow", " from",
    " prefill", " decode", " with", " each", " wave", " at", " dawn", " crew", " counts", " every",
    " crate", " before", " tide", " turns", " under", " steady", " wind", " home",
];

/// Tokens of a text.
pub(crate) fn tokenize(text: &str) -> Vec<Token> {
    text.split_inclusive(char::is_whitespace)
        .flat_map(|word| word.as_bytes().chunks(4))
        .map(|piece| piece.iter().fold(0x811c_9dc5, |hash, &byte| fnv(hash, byte)))
        .collect()
}

fn fnv(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

/// One round of the splitmix64 finaliser: close inputs give unrelated outputs.
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Writes the answer to one prompt: the same words for the same prompt and sample, on any engine.
#[derive(Debug)]
pub(crate) struct Writer {
    seed: u64,
}

// === impl Writer ===

impl Writer {
    /// A writer for the `sample`-th answer to `prompt`.
    pub(crate) fn new(prompt: &[Token], sample: u32) -> Self {
        let seed = prompt.iter().fold(u64::from(sample), |seed, &token| {
            (seed ^ u64::from(token)).wrapping_mul(0x0100_0000_01b3).rotate_left(17)
        });
        Self { seed }
    }

    /// The token at a position, and its text.
    pub(crate) fn word(&self, position: u32) -> (Token, &'static str) {
        let index = mix(self.seed.wrapping_add(u64::from(position))) % WORDS.len() as u64;
        (FIRST_WORD + index as Token, WORDS[index as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_pieces_of_words() {
        assert_eq!(tokenize("Hello world, how are you?").len(), 7);
        assert!(tokenize("").is_empty());
        let long = tokenize("one two three");
        assert!(long.starts_with(&tokenize("one two ")));
    }

    #[test]
    fn text_follows_prompt_and_sample() {
        let write = |prompt: &str, sample| {
            let writer = Writer::new(&tokenize(prompt), sample);
            (0..8).map(|at| writer.word(at).1).collect::<String>()
        };
        assert_eq!(write("a b", 0), write("a b", 0));
        assert_ne!(write("a b", 0), write("a b", 1));
        assert_ne!(write("a b", 0), write("b a", 0));
    }
}
