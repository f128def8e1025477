//! One request and its answer, as far as they have been seen.

mod grpc;
mod judgement;
mod reader;

use std::{sync::Arc, time::SystemTime};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header::AUTHORIZATION,
    response,
};
use plimsoll_wire::{Endpoint, PeekSlot, Upstream};
use tokio::time::Instant;

use self::reader::Reader;
pub(crate) use self::reader::{is_encoded, is_event_stream};
use crate::{Record, Timing, amend::Withheld, layer::Options, tenant::names_key};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// How the body came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It was read to its end.
    Ended,
    /// The service or the body gave an error.
    Failed,
    /// It was dropped before its end.
    Dropped,
}

pub(crate) struct Exchange {
    endpoint: Endpoint,
    request: PeekSlot,
    tenant: Option<Arc<str>>,
    id: Option<HeaderValue>,
    /// An id that repeats it is none.
    authorization: Option<HeaderValue>,
    method: Method,
    started: Instant,
    status: Option<StatusCode>,
    upstream: Option<Upstream>,
    withheld: Option<Withheld>,
    first_byte: Option<Instant>,
    reader: Reader,
    /// The client left, and somebody else reads the answer to its end.
    left: bool,
    /// It left before the head.
    missed_head: bool,
}

// === impl Exchange ===

impl Exchange {
    pub(crate) fn new<B>(endpoint: Endpoint, request: &mut Request<B>, options: &Options) -> Self {
        let tenant = options.tenant.as_ref();
        Self {
            endpoint,
            tenant: tenant.and_then(|tenant| tenant(request.headers(), request.extensions())),
            id: request.headers().get(REQUEST_ID).cloned(),
            authorization: request.headers().get(AUTHORIZATION).cloned(),
            method: request.method().clone(),
            // Whoever below reads the request leaves here what it says.
            request: request.extensions_mut().get_or_insert_default::<PeekSlot>().clone(),
            started: Instant::now(),
            status: None,
            upstream: None,
            withheld: None,
            first_byte: None,
            reader: Reader::default(),
            left: false,
            missed_head: false,
        }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    /// Takes note of the answer's head. Whether a body belongs to it.
    pub(crate) fn head(&mut self, parts: &response::Parts) -> bool {
        self.upstream = parts.extensions.get().cloned();
        let client_left = self.upstream.as_ref().is_some_and(|upstream| upstream.client_left);
        self.status = Some(parts.status).filter(|_| !client_left);
        self.withheld = parts.extensions.get().cloned();
        self.id = parts.headers.get(REQUEST_ID).cloned().or(self.id.take());
        // The answer to `HEAD` has no body, whatever its head says.
        let bodiless = self.method == Method::HEAD
            || parts.status.is_informational()
            || matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if !bodiless {
            let asked = self.request.get().map(|request| request.asked(self.endpoint));
            self.reader = Reader::new(self.endpoint, asked.unwrap_or_default(), parts);
        }
        !bodiless
    }

    pub(crate) fn data(&mut self, data: &Bytes) {
        let now = Instant::now();
        self.first_byte.get_or_insert(now);
        self.reader.data(data, now);
    }

    pub(crate) fn trailers(&mut self, trailers: &HeaderMap) {
        self.reader.trailers(trailers);
    }

    /// The client left; what comes from here on nobody but the meter gets.
    pub(crate) fn leave(&mut self) {
        self.left = true;
        self.missed_head = self.status.is_none();
    }

    /// More of the answer would make the counts better.
    pub(crate) fn is_worth_reading_on(&self) -> bool {
        self.status.is_none() || self.reader.is_worth_reading_on()
    }

    /// That of the router below, else of the headers.
    fn id(&self) -> Option<Arc<str>> {
        let own = || self.id.as_ref().map(|id| String::from_utf8_lossy(id.as_bytes()).into());
        let id: Arc<str> = self.request.id().cloned().or_else(own)?;
        let is_key = self.authorization.as_ref().is_some_and(|key| names_key(key, &id));
        (!is_key).then_some(id)
    }

    pub(crate) fn finish(mut self, ending: Ending) -> Record {
        let mut reply = self.reader.finish(ending);
        // Where no head carries it, whoever routes the request may have left it here.
        self.upstream = self.upstream.or_else(|| self.request.upstream());
        if let Some(withheld) = &self.withheld {
            reply.add(&withheld.get());
        }
        let outcome = self.outcome(ending, &reply);
        let completeness = self.completeness(outcome, &reply);
        let (usage, completion_lower_bound) = self.usage(completeness, &reply);
        let since = |at: Instant| at - self.started;
        let peek = self.request.get();
        let asked_model: Option<Arc<str>> =
            peek.and_then(|peek| peek.model.as_deref()).map(Arc::from);
        let answered_model: Option<Arc<str>> = reply.model.map(Arc::from);
        let served = self.request.served_model();
        let id = self.id();
        let Reader { chunks, first_token, last_token, gaps, .. } = self.reader;
        Record {
            method: self.method,
            endpoint: self.endpoint,
            id,
            tenant: self.tenant,
            model: served.or(answered_model.as_ref()).or(asked_model.as_ref()).cloned(),
            model_is_served: served.is_some(),
            asked_model,
            answered_model,
            stream: peek.map_or(self.reader.is_stream, |peek| peek.stream),
            status: self.status.filter(|_| !self.missed_head).map(|status| status.as_u16()),
            outcome,
            completeness,
            usage,
            completion_lower_bound,
            chunks,
            anomalies: reply.malformed,
            finish_reasons: reply.finish_reasons,
            timing: Timing {
                first_byte: self.first_byte.map(since),
                first_token: first_token.map(since),
                last_token: last_token.map(since),
                total: self.started.elapsed(),
            },
            gaps,
            upstream: self.upstream.unwrap_or_default(),
            prefill_duration: None,
            ended_at: SystemTime::now(),
        }
    }
}
