//! Mixed traffic and troubles for a long time: what the router holds stays what it was, no request
//! is lost, and its counts are the engines'.

use std::{
    fmt,
    fs::File,
    io::{BufRead, BufReader},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::{
    FLAGS, duration,
    engines::{Seats, line, seats, storm},
    mixture::{Mixture, Sent},
    seed, serves,
};
use crate::support::{Log, Page, Plimsoll, eventually, within};

/// How many samples are taken.
const SAMPLES: u32 = 60;

/// How long the traffic is without trouble, before and after.
const CALM: Duration = Duration::from_secs(2);

/// What the process holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    memory: u64,
    files: u64,
    series: u64,
}

#[tokio::test]
async fn nothing_grows_and_nothing_is_lost() {
    let duration = duration("PLIMSOLL_SOAK_SECS", 6);
    within(duration + Duration::from_secs(90), async move {
        let (log, seed) = (Log::new(), seed());
        println!("seed {seed}");
        let (mut prefill, mut decode) = seats().await;
        let line = format!("{} {FLAGS} {}", line(&prefill, &decode), log.flag());
        let router = Plimsoll::start(&line).await;
        let mixture = Mixture::new(seed);
        let mut sent = calm(&router, &mixture, &decode, Sent::default()).await;

        let end = Instant::now() + duration;
        let troubles = async {
            tokio::join!(storm(&mut prefill, seed, end), storm(&mut decode, seed + 1, end))
        };
        let watch = watch(&router, duration / SAMPLES);
        let (asked, held, _) = tokio::join!(mixture.ask_until(&router, end, true), watch, troubles);
        sent = sent + asked;
        eventually(async || if serves(&router).await { Ok(()) } else { Err(router.log()) }).await;
        sent = calm(&router, &mixture, &decode, sent).await;

        let page = router.settled(sent.metered).await;
        assert_eq!(lines(&log, sent.metered).await, sent.metered, "lines of the usage log");
        println!("{sent:?}, {} complete", page.outcomes("complete"));
        assert_flat("bytes of memory", held.iter().map(|held| held.memory), 8 << 20);
        assert_flat("open files", held.iter().map(|held| held.files), 40);
        assert_flat("series", held.iter().map(|held| held.series), 40);
    })
    .await;
}

/// Traffic without trouble, after what was sent before: the page's tokens are those of the engines.
async fn calm(router: &Plimsoll, mixture: &Mixture, decode: &Seats, before: Sent) -> Sent {
    let page = router.settled(before.metered).await;
    for seat in decode {
        seat.idle().await;
    }
    let (tokens, engines) = (tokens(&page), generated(decode));
    let asked = mixture.ask_until(router, Instant::now() + CALM, false).await;
    let sent = before + asked;
    let page = router.settled(sent.metered).await;
    let counted = self::tokens(&page) - tokens;
    assert!(counted > 0, "nobody got an answer: {}", router.log());
    assert_eq!(counted, generated(decode) - engines, "completion tokens");
    sent
}

fn tokens(page: &Page) -> u64 {
    page.count("plimsoll_completion_tokens_total", &[])
}

/// What the decode engines have generated for requests that ended well.
fn generated(decode: &Seats) -> u64 {
    decode.iter().map(|seat| seat.totals().generation_tokens).sum()
}

/// What the process holds, time after time.
async fn watch(router: &Plimsoll, pause: Duration) -> Vec<Held> {
    let mut all = Vec::new();
    for _ in 0..SAMPLES {
        sleep(pause).await;
        let series = router.page().await.samples.len() as u64;
        let held = Held { memory: router.resident(), files: router.open_files(), series };
        if all.len() % 10 == 9 {
            println!("{held}");
        }
        all.push(held);
    }
    all
}

/// The lines of a log, once there are as many; it may be too long to be kept.
async fn lines(log: &Log, wanted: u64) -> u64 {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let file = BufReader::new(File::open(log.path()).expect("a log"));
        let lines = file.lines().map(|line| line.expect("text"));
        let count = lines.inspect(|line| assert!(line.ends_with('}'), "{line}")).count() as u64;
        if count >= wanted || Instant::now() > until {
            return count;
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// After the first third, in which all comes into use, it no longer grows: by a twentieth at most,
/// or by `noise`.
#[track_caller]
fn assert_flat(what: &str, samples: impl Iterator<Item = u64>, noise: u64) {
    let samples: Vec<_> = samples.collect();
    let third = samples.len() / 3;
    let (middle, last) = (median(&samples[third..2 * third]), median(&samples[2 * third..]));
    println!("{what}: {} at first, {middle} in the middle, {last} at last", samples[0]);
    assert!(last <= middle + (middle / 20).max(noise), "{what} grow: {samples:?}");
}

fn median(samples: &[u64]) -> u64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, files, series } = self;
        write!(f, "{} kB, {files} files, {series} series", memory >> 10)
    }
}
