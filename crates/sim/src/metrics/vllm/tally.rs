//! What a rank's requests add up to.

use std::time::Duration;

use crate::metrics::{Finished, histogram::Histogram};

/// Bucket bounds of the time to the first token, seconds.
const FIRST_TOKEN: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];

/// Bucket bounds of the time to the last token, seconds.
const END_TO_END: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
];

/// Bucket bounds of the time a transfer takes, seconds.
const TRANSFER_TIME: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 5.0];

/// Bucket bounds of the size of a transfer, bytes.
const TRANSFER_BYTES: &[f64] = &[
    2048.0,
    8192.0,
    32_768.0,
    131_072.0,
    524_288.0,
    2_097_152.0,
    8_388_608.0,
    33_554_432.0,
    134_217_728.0,
    536_870_912.0,
    2_147_483_648.0,
    8_589_934_592.0,
];

/// KV of one token, in bytes; that of the recorded model.
const TOKEN_BYTES: f64 = 1024.0;

/// How a request ended, in the page's order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ending {
    Stop,
    Length,
    Abort,
    Error,
}

/// Counts of a data-parallel rank.
#[derive(Debug)]
pub(crate) struct Tally {
    endings: [u64; 4],
    pub(super) first_token: Histogram,
    pub(super) end_to_end: Histogram,
    pub(super) transfer_time: Histogram,
    pub(super) transfer_bytes: Histogram,
    /// Transfers that failed.
    pub(super) failed_transfers: u64,
    /// Prompts kept for decode in vain.
    pub(super) expired: u64,
}

// === impl Tally ===

impl Tally {
    pub(crate) fn finished(&mut self, finished: &Finished, ending: Ending) {
        self.ended(ending);
        self.first_token.observe(finished.first_token_after);
        self.end_to_end.observe(finished.finished_after);
    }

    pub(crate) fn ended(&mut self, ending: Ending) {
        self.endings[ending as usize] += 1;
    }

    pub(crate) fn transferred(&mut self, tokens: u64, time: Duration) {
        self.transfer_time.observe(time);
        self.transfer_bytes.observe_value(tokens as f64 * TOKEN_BYTES);
    }

    pub(crate) fn transfer_failed(&mut self) {
        self.failed_transfers += 1;
    }

    pub(crate) fn expired(&mut self) {
        self.expired += 1;
    }

    pub(super) fn endings(&self, ending: Ending) -> u64 {
        self.endings[ending as usize]
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            endings: [0; 4],
            first_token: Histogram::new(FIRST_TOKEN),
            end_to_end: Histogram::new(END_TO_END),
            transfer_time: Histogram::new(TRANSFER_TIME),
            transfer_bytes: Histogram::new(TRANSFER_BYTES),
            failed_transfers: 0,
            expired: 0,
        }
    }
}
