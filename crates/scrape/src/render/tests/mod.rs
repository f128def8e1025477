//! One small snapshot, as all that it can look like.

mod json;
mod sums;
mod table;
mod text;

use std::{sync::Arc, time::Duration};

use plimsoll_wire::Role;
use tokio::time::Instant;

use super::Report;
use crate::{Discarded, Identity, Pool, Reading, Snapshot, Source, State, WorkerReading};

/// A model whose name has whatever must be escaped.
const ODD: &str = "a\"b\\c\né";

fn worker(url: &str, role: Role) -> WorkerReading {
    WorkerReading::pending(url.into(), role)
}

/// A decode worker with two ranks that says nearly all there is.
fn full(now: Instant) -> WorkerReading {
    let rank = |rank: &str, used, swa_ratio| Pool {
        rank: Some(rank.to_owned()),
        capacity: Some(1_290_752.0),
        used: Some(used),
        available: Some(322_688.0),
        evictable: Some(322_688.0),
        usage_ratio: Some(used / 1_290_752.0),
        swa_ratio,
        mamba_ratio: None,
        usage_ratio_max: swa_ratio.or(Some(used / 1_290_752.0)),
    };
    let mut scrapes = [0; State::ALL.len()];
    scrapes[State::Ok as usize] = 17;
    WorkerReading {
        model: Some(ODD.into()),
        identity: Identity {
            engine: Some("sglang"),
            version: Some("0.5.9".to_owned()),
            tensor_ranks: Some(4),
            data_ranks: Some(2),
            ..Identity::default()
        },
        state: State::Ok,
        reading: Some(Reading {
            pools: vec![rank("0", 645_376.0, Some(0.95)), rank("1", 322_688.0, None)],
            running: Some(3.0),
            queued: [Some(1.0), Some(0.0), Some(0.0), Some(2.0), None],
            generation_rate: Some(41.5),
            ..Reading::default()
        }),
        sources: vec![Source::Metrics, Source::Loads],
        read_at: now.checked_sub(Duration::from_millis(250)),
        scrape_duration: Some(Duration::from_micros(4200)),
        scrapes,
        discarded: Discarded { nan: 2, ..Discarded::default() },
        ..worker("http://d:1", Role::Decode)
    }
}

fn snapshot(now: Instant) -> Snapshot {
    let idle = WorkerReading { state: State::Disabled, ..worker("http://p:1", Role::Prefill) };
    Snapshot { workers: vec![Arc::new(idle), Arc::new(full(now))] }
}

fn report() -> Report {
    let now = Instant::now() + Duration::from_secs(1);
    snapshot(now).report(now)
}
