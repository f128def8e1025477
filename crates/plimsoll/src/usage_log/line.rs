use std::time::{Duration, SystemTime};

use plimsoll_meter::{Record, Usage};
use serde::{Serialize, Serializer, ser::Error};
use time::{
    OffsetDateTime,
    format_description::well_known::{
        Iso8601,
        iso8601::{Config, EncodedConfig, TimePrecision},
    },
};

/// One line of the log.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    #[serde(serialize_with = "rfc3339")]
    ts: SystemTime,
    id: Option<&'a str>,
    endpoint: &'static str,
    model: Option<&'a str>,
    tenant: Option<&'a str>,
    stream: bool,
    status: u16,
    outcome: &'static str,
    completeness: &'static str,
    usage: Counts,
    lower_bound: LowerBound,
    timing: Times,
    chunks: u64,
    attempts: u32,
    prefill: Option<&'a str>,
    decode: Option<&'a str>,
    finish_reasons: &'a [String],
}

#[derive(Serialize)]
struct Counts {
    prompt: Option<u64>,
    cached: Option<u64>,
    completion: Option<u64>,
    reasoning: Option<u64>,
}

#[derive(Serialize)]
struct LowerBound {
    completion: Option<u64>,
}

/// Milliseconds since the request's arrival.
#[derive(Serialize)]
struct Times {
    first_byte_ms: Option<f64>,
    first_token_ms: Option<f64>,
    total_ms: f64,
}

/// RFC 3339, with milliseconds.
const TIMESTAMP: EncodedConfig =
    Config::DEFAULT.set_time_precision(TimePrecision::Second { decimal_digits: MILLIS }).encode();

const MILLIS: Option<std::num::NonZero<u8>> = std::num::NonZero::new(3);

// === impl Line ===

impl<'a> From<&'a Record> for Line<'a> {
    fn from(record: &'a Record) -> Self {
        let Usage { prompt, completion, cached, reasoning } = record.usage;
        Self {
            ts: record.ended_at,
            id: record.id.as_deref(),
            endpoint: record.endpoint.as_str(),
            model: record.model.as_deref(),
            tenant: record.tenant.as_deref(),
            stream: record.stream,
            status: record.status.unwrap_or_default(),
            outcome: record.outcome.as_str(),
            completeness: record.completeness.as_str(),
            usage: Counts { prompt, cached, completion, reasoning },
            lower_bound: LowerBound { completion: record.completion_lower_bound },
            timing: Times {
                first_byte_ms: record.timing.first_byte.map(millis),
                first_token_ms: record.timing.first_token.map(millis),
                total_ms: millis(record.timing.total),
            },
            chunks: record.chunks,
            attempts: record.upstream.attempts,
            prefill: record.upstream.prefill.as_deref(),
            decode: record.upstream.decode.as_deref(),
            finish_reasons: &record.finish_reasons,
        }
    }
}

/// To the microsecond.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

fn rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let text =
        OffsetDateTime::from(*time).format(&Iso8601::<TIMESTAMP>).map_err(S::Error::custom)?;
    serializer.serialize_str(&text)
}
