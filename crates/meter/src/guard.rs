//! Makes one record of each request, however it ends.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, response};

use crate::{
    Completeness, Sink,
    exchange::{Ending, Exchange},
};

/// Holds a request from the service's call to the end of its body. Dropping it is one of the ends:
/// the client left.
pub(crate) struct Guard<S: Sink> {
    sink: Arc<S>,
    /// There until the request is settled.
    exchange: Option<Exchange>,
}

// === impl Guard ===

impl<S: Sink> Guard<S> {
    pub(crate) fn new(sink: Arc<S>, exchange: Exchange) -> Self {
        sink.begin(exchange.endpoint());
        Self { sink, exchange: Some(exchange) }
    }

    /// Takes note of the answer's head. An answer without a body settles here.
    pub(crate) fn head(&mut self, parts: &response::Parts) {
        if let Some(exchange) = &mut self.exchange {
            if !exchange.head(parts) {
                self.settle_as(Ending::Ended);
            }
        }
    }

    pub(crate) fn data(&mut self, data: &Bytes) {
        if let Some(exchange) = &mut self.exchange {
            exchange.data(data);
        }
    }

    pub(crate) fn trailers(&mut self, trailers: &HeaderMap) {
        if let Some(exchange) = &mut self.exchange {
            exchange.trailers(trailers);
        }
    }

    /// The client left. Whether the counts would be better for reading on.
    pub(crate) fn leave(&mut self) -> bool {
        self.exchange.as_mut().is_some_and(|exchange| {
            let worth = exchange.is_worth_reading_on();
            if worth {
                exchange.leave();
            }
            worth
        })
    }

    pub(crate) fn settle(mut self, ending: Ending) {
        self.settle_as(ending);
    }

    fn settle_as(&mut self, ending: Ending) {
        let Some(exchange) = self.exchange.take() else {
            return;
        };
        self.sink.end(exchange.endpoint());
        let record = exchange.finish(ending);
        match record.upstream.prefill_reply.clone() {
            None => self.sink.record(&record),
            // Of a pair, prefill knows what was cached: decode was handed every prompt token.
            Some(reply) => {
                let sink = self.sink.clone();
                let mut record = record;
                reply.when_known(move |report| {
                    record.prefill_duration = report.map(|report| report.duration);
                    if matches!(record.completeness, Completeness::Exact | Completeness::Partial) {
                        let was_consistent = record.usage.is_consistent();
                        record.usage.cached = report.and_then(|report| report.usage?.cached);
                        let is_news = was_consistent && !record.usage.is_consistent();
                        record.anomalies += u64::from(is_news);
                    }
                    sink.record(&record);
                });
            }
        }
    }
}

impl<S: Sink> Drop for Guard<S> {
    fn drop(&mut self) {
        self.settle_as(Ending::Dropped);
    }
}
