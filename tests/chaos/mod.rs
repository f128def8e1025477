//! Engines die, hang, lag and come back while clients go on asking: each gets what is right or is
//! told that it does not, all of it is counted, and nothing is left behind.

mod clients;
mod engines;
mod mixture;
mod soak;

use std::{collections::BTreeMap, env, time::Duration};

use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use self::{
    clients::{Asks, Fate, Fates},
    engines::{Seat, Seats, Trouble, line, seats, storm},
};
use crate::support::{Log, Page, Plimsoll, within};

const CHAT: &str = "/v1/chat/completions";

const CLIENTS: usize = 200;

/// Of what the flags below give: a request's silence, a probe and its interval, a breaker's time;
/// and some for a machine with other work.
const RECOVERY: Duration = Duration::from_secs(2 + 1 + 1 + 1 + 3);

/// One trouble after another takes its time.
const BLAME: Duration = Duration::from_secs(80);

const FLAGS: &str = "--request-timeout-secs 2 --health-check-interval-secs 1 \
                     --health-check-timeout-secs 1 --cb-timeout-duration-secs 1";

/// How long there is trouble: as many seconds as the variable says, or else `secs`.
fn duration(variable: &str, secs: u64) -> Duration {
    let given = env::var(variable).map(|secs| secs.parse().expect("seconds"));
    Duration::from_secs(given.unwrap_or(secs))
}

/// What the random troubles are drawn from: `PLIMSOLL_CHAOS_SEED`, or by chance.
fn seed() -> u64 {
    env::var("PLIMSOLL_CHAOS_SEED")
        .map_or_else(|_| fastrand::u64(..1000), |seed| seed.parse().expect("a number"))
}

/// Asks 20 times at once, as soon as everybody serves, until all are answered; it is not long until
/// those are asked.
async fn recover(router: &Plimsoll, asks: &Asks) -> Fates {
    let (cured, mut fates) = (Instant::now(), Fates::new());
    loop {
        while !serves(router).await {
            assert!(cured.elapsed() < RECOVERY, "no recovery: {}", router.log());
            sleep(Duration::from_millis(20)).await;
        }
        let asked = cured.elapsed();
        assert!(asked < RECOVERY, "no recovery: {fates:?} {}", router.log());
        let round = (0..20).map(async |number| {
            let id = format!("after-{}-{number}", asked.as_millis());
            (asks.ask(router, number, &id).await, id)
        });
        let round = join_all(round).await;
        let are_whole = round.iter().all(|(fate, _)| *fate == Fate::Whole);
        fates.extend(round.into_iter().map(|(fate, id)| (id, fate)));
        if are_whole {
            println!("all is well {asked:?} after the last trouble");
            return fates;
        }
    }
}

async fn serves(router: &Plimsoll) -> bool {
    let ready = router.get("/readiness").send().await.status == 200;
    ready && router.page().await.count("plimsoll_worker_eligible", &[]) == 4
}

/// The log and the page say of each request what its client has seen.
#[track_caller]
fn assert_counted(page: &Page, lines: &[serde_json::Value], fates: &Fates) {
    let mut outcomes = BTreeMap::<_, u64>::new();
    for line in lines {
        let (id, outcome) = (line["id"].as_str(), line["outcome"].as_str());
        let (id, outcome) = (id.expect("an id"), outcome.expect("an outcome"));
        *outcomes.entry(outcome).or_default() += 1;
        // What the clients learn at first.
        let Some(fate) = fates.get(id) else { continue };
        let status = if let Fate::Refused(status) = fate { *status } else { 200 };
        assert_eq!(line["status"], status, "{line}");
        let fits = match fate {
            Fate::Whole => outcome == "complete",
            Fate::Broken => outcome == "upstream_error",
            Fate::Refused(_) => matches!(outcome, "upstream_error" | "rejected"),
        };
        assert!(fits, "{fate:?} {line}");
    }
    for (outcome, count) in &outcomes {
        assert_eq!(page.outcomes(outcome), *count, "{outcome}");
    }
    println!("{outcomes:?}");
}

#[tokio::test]
async fn everybody_gets_an_answer() {
    let duration = duration("PLIMSOLL_CHAOS_SECS", 8);
    within(duration + Duration::from_secs(60), async move {
        let (log, seed) = (Log::new(), seed());
        println!("seed {seed}");
        let (mut prefill, mut decode) = seats().await;
        let limits = "--max-concurrent-requests 190 --queue-size 100 --queue-timeout-secs 2";
        let line = format!("{} {FLAGS} {limits} {}", line(&prefill, &decode), log.flag());
        let router = Plimsoll::start(&line).await;
        let asks = Asks::learn(&router, 60).await;
        let end = Instant::now() + duration;
        let weather = async {
            tokio::join!(storm(&mut prefill, seed, end), storm(&mut decode, seed + 1, end),);
            recover(&router, &asks).await
        };
        let (mut fates, after) = tokio::join!(asks.keep_asking(&router, CLIENTS, end), weather);
        fates.extend(after);

        let sent = asks.len() + fates.len() as u64;
        let page = router.settled(sent).await;
        assert_eq!(page.count("plimsoll_queue_depth", &[]), 0);
        assert_counted(&page, &log.wait(sent as usize).await, &fates);
        for seat in prefill.iter().chain(&decode) {
            seat.idle().await;
        }
        let mut seen = BTreeMap::<_, u64>::new();
        fates.values().for_each(|fate| *seen.entry(fate).or_default() += 1);
        let retries = page.count("plimsoll_retries_total", &[]);
        println!("{sent} requests, {retries} retries, {seen:?}");
        assert!(seen[&Fate::Whole] > CLIENTS as u64);
    })
    .await;
}

/// One engine has one trouble after another, and it alone is charged with what comes of it.
async fn one_to_blame(choose: for<'a> fn(&'a mut Seats, &'a mut Seats) -> &'a mut Seat) {
    let (mut prefill, mut decode) = seats().await;
    // Long enough for a probe to fail: who is hung can be told from who waits for it only so.
    let flags = FLAGS.replace("request-timeout-secs 2", "request-timeout-secs 3");
    let router = Plimsoll::start(&format!("{} {flags}", line(&prefill, &decode))).await;
    let asks = Asks::learn(&router, 20).await;
    let urls: Vec<_> = prefill.iter().chain(&decode).map(|seat| seat.url().to_owned()).collect();
    let seat = choose(&mut prefill, &mut decode);
    let mut wrong = Vec::new();
    for trouble in Trouble::TELLING {
        let before = router.page().await;
        // Until then clients begin; it lasts until they have all been answered.
        let end = Instant::now() + Duration::from_millis(500);
        seat.strike(trouble).await;
        asks.keep_asking(&router, 20, end).await;
        seat.cure().await;
        recover(&router, &asks).await;
        let page = router.page().await;
        for url in urls.iter().filter(|url| *url != seat.url()) {
            for result in ["connect_error", "timeout", "reset", "status_5xx"] {
                let labels = [("worker", &**url), ("result", result)];
                let count = |page: &Page| page.count("plimsoll_attempts_total", &labels);
                if count(&page) != count(&before) {
                    wrong.push(format!("{trouble:?}: {url} {result} {}", count(&page)));
                }
            }
        }
        let charged =
            ["connect_error", "timeout", "reset", "status_5xx", "cancelled"].map(|result| {
                let labels = [("worker", seat.url()), ("result", result)];
                let count = |page: &Page| page.count("plimsoll_attempts_total", &labels);
                (result, count(&page) - count(&before))
            });
        println!("{trouble:?}: {charged:?}");
    }
    assert!(wrong.is_empty(), "{} {urls:?} {wrong:#?}\n{}", seat.url(), router.log());
}

#[tokio::test]
async fn a_prefill_alone_is_to_blame() {
    within(BLAME, one_to_blame(|prefill, _| &mut prefill[1])).await;
}

#[tokio::test]
async fn a_decode_alone_is_to_blame() {
    within(BLAME, one_to_blame(|_, decode| &mut decode[1])).await;
}
