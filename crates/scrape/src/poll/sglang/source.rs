//! Which of its endpoints answers.

use tokio::time::{self, Instant};

use super::{RankLoad, get_load::GetLoad, loads, supply};
use crate::{
    Facts, Page, Source,
    fetch::{Fetch, FetchError},
    poll::{backoff::Backoff, worker::endpoint},
};

const V1_LOADS: &str = "/v1/loads?include=core,disagg,queues,memory";
const GET_LOAD: &str = "/get_load";

/// The loads of one worker.
#[derive(Debug, Default)]
pub(crate) struct Loads {
    v1_loads: Backoff,
    get_load: Backoff,
    /// What it last said of its version.
    pub(crate) version: Option<String>,
    /// It has run a batch since its start.
    has_run: bool,
}

/// Where the loads are asked for, and until when.
#[derive(Debug)]
struct Place<'a> {
    fetch: &'a Fetch,
    worker: &'a str,
    deadline: Instant,
}

// === impl Loads ===

impl Loads {
    /// The worker may be another one when it comes back.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Asks until `deadline` for what a page does not say, and puts it there. The answer is where it
    /// came from, if any of it was wanted.
    pub(crate) async fn supply(
        &mut self,
        page: &mut Page,
        (fetch, worker): (&Fetch, &str),
        (facts, deadline): (&Facts, Instant),
    ) -> Option<Source> {
        let from = Place { fetch, worker, deadline };
        let (source, ranks) = self.ask(&from).await?;
        page.engine.get_or_insert("sglang");
        self.has_run |= ranks.iter().any(|rank| rank.has_run);
        supply(page, &ranks, facts, self.has_run).then_some(source)
    }

    async fn ask(&mut self, from: &Place<'_>) -> Option<(Source, Vec<RankLoad>)> {
        if let Some(body) = from.get(V1_LOADS, &mut self.v1_loads).await {
            let answer: Option<loads::Loads> = serde_json::from_slice(&body).ok();
            if let Some((ranks, answer)) = answer.and_then(|it| Some((it.ranks()?, it))) {
                self.version = answer.version;
                self.v1_loads.reset();
                return Some((Source::Loads, ranks));
            }
            self.v1_loads.failed();
        }
        let body = from.get(GET_LOAD, &mut self.get_load).await?;
        match serde_json::from_slice::<GetLoad>(&body) {
            Ok(answer) => {
                self.get_load.reset();
                Some((Source::GetLoad, answer.ranks()))
            }
            Err(_) => {
                self.get_load.failed();
                None
            }
        }
    }
}

// === impl Place ===

impl Place<'_> {
    /// What an endpoint answers, unless it is to be left alone for a while. One that was not asked,
    /// for lack of time, has not failed.
    async fn get(&self, path: &str, backoff: &mut Backoff) -> Option<bytes::Bytes> {
        let &Self { fetch, worker, deadline } = self;
        if !backoff.is_over() || Instant::now() >= deadline {
            return None;
        }
        match time::timeout_at(deadline, fetch.get(&endpoint(worker, path)?)).await {
            Ok(Ok(answer)) => Some(answer.body),
            Ok(Err(FetchError::Unreachable(_))) => None,
            Ok(Err(_)) | Err(_) => {
                backoff.failed();
                None
            }
        }
    }
}
