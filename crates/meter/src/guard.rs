//! Makes one record of each request, however it ends.

use std::sync::Arc;

use bytes::Bytes;
use http::response;
use plimsoll_wire::upstream::PrefillUsage;

use crate::{
    Record, Sink,
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

    pub(crate) fn head(&mut self, parts: &response::Parts) {
        if let Some(exchange) = &mut self.exchange {
            exchange.head(parts);
        }
    }

    pub(crate) fn data(&mut self, data: &Bytes) {
        if let Some(exchange) = &mut self.exchange {
            exchange.data(data);
        }
    }

    pub(crate) fn settle(mut self, ending: Ending) {
        self.settle_as(ending);
    }

    fn settle_as(&mut self, ending: Ending) {
        let Some(exchange) = self.exchange.take() else {
            return;
        };
        self.sink.end(exchange.endpoint());
        let (record, prefill_usage) = exchange.finish(ending);
        match prefill_usage {
            None => self.sink.record(&record),
            Some(usage) => record_when_known(self.sink.clone(), record, &usage),
        }
    }
}

impl<S: Sink> Drop for Guard<S> {
    fn drop(&mut self) {
        self.settle_as(Ending::Dropped);
    }
}

/// Of a pair, prefill knows what was cached: decode was handed every prompt token.
fn record_when_known<S: Sink>(sink: Arc<S>, mut record: Record, usage: &PrefillUsage) {
    usage.when_known(move |prefill| {
        record.usage.cached = prefill.and_then(|usage| usage.cached);
        sink.record(&record);
    });
}
