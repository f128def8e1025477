use fastrand::Rng;

/// Tokens of a block, the unit in which prefixes are kept.
pub(super) const BLOCK: usize = 64;

/// One request of the load.
#[derive(Debug)]
pub(super) struct Request {
    /// When it comes, in seconds.
    pub(super) at: f64,
    /// The blocks of its prompt, each named for all that is before it too.
    pub(super) prompt: Vec<u64>,
    /// Tokens that are generated for it.
    pub(super) answer: usize,
}

// === impl Request ===

impl Request {
    /// Its prompt as a body has it.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut text = br#"[{"role":"user","content":""#.to_vec();
        for block in &self.prompt {
            let word = format!("{:016x}", block.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            text.extend(word.repeat(BLOCK * 4 / word.len()).as_bytes());
        }
        text.extend(br#""}]"#);
        text
    }
}

/// Few very long requests among many short ones.
pub(super) fn skewed(seed: u64) -> Vec<Request> {
    let mut rng = Rng::with_seed(seed);
    let (mut at, mut block) = (0.0, 0);
    let draw = |_| {
        at += pause(&mut rng, 11.0);
        let is_long = rng.f64() < 0.03;
        let (blocks, answer) = if is_long {
            (rng.usize(300..900), rng.usize(500..1_500))
        } else {
            (rng.usize(3..16), rng.usize(50..400))
        };
        let prompt = (block..block + blocks as u64).collect();
        block += blocks as u64;
        Request { at, prompt, answer }
    };
    (0..2_000).map(draw).collect()
}

/// Sessions whose every turn repeats what was said before it, after one of a few openings.
pub(super) fn sessions(seed: u64) -> Vec<Request> {
    const OPENINGS: u64 = 8;
    const TURNS: usize = 10;
    let mut rng = Rng::with_seed(seed);
    let mut open: Vec<(Vec<u64>, usize)> = vec![(Vec::new(), TURNS); 64];
    let (mut at, mut block) = (0.0, OPENINGS << 32);
    let draw = |_| {
        at += pause(&mut rng, 12.0);
        let (prompt, turns) = &mut open[rng.usize(..64)];
        if *turns == TURNS {
            let opening = rng.u64(..OPENINGS) << 32;
            (*prompt, *turns) = ((opening..opening + 12).collect(), 0);
        }
        let said = rng.u64(4..12);
        prompt.extend(block..block + said);
        block += said;
        *turns += 1;
        Request { at, prompt: prompt.clone(), answer: rng.usize(50..200) }
    };
    (0..2_000).map(draw).collect()
}

/// The time to the next of requests that come by chance, so many a second.
fn pause(rng: &mut Rng, rate: f64) -> f64 {
    -(1.0 - rng.f64()).ln() / rate
}
