//! Which workers a request goes to.

use std::sync::Arc;

use plimsoll_wire::{RequestPeek, Role, Splice, Upstream};

use super::{Cluster, fit::Fit};
use crate::{
    RouteError, Worker,
    policies::{Candidate, Hint},
    workers::Place,
};

/// The beginning of a prompt that a policy may look at, in bytes.
const MAX_PROMPT: usize = 256 << 10;

/// What a request needs of its workers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted<'a> {
    model: Option<&'a str>,
    hint: Hint<'a>,
    /// About how many tokens it will put into a KV cache.
    tokens: u64,
}

/// Workers with a place for a request.
#[derive(Debug)]
pub(crate) enum Team {
    /// One that does it all.
    Plain(Place),
    /// Two that share it.
    Pair {
        /// Reads the prompt.
        prefill: Place,
        /// Writes the answer.
        decode: Place,
    },
}

// === impl Wanted ===

impl<'a> Wanted<'a> {
    pub(crate) fn new(
        peek: Option<&'a RequestPeek>,
        body: &'a Splice,
        session: Option<&'a [u8]>,
    ) -> Self {
        let Some(peek) = peek else {
            return Self { hint: Hint { prompt: &[], session }, ..Self::default() };
        };
        let session = session.or(peek.session.as_deref().map(str::as_bytes));
        Self {
            model: peek.model.as_deref(),
            hint: Hint { prompt: peek.prompt_of(body, MAX_PROMPT), session },
            tokens: peek.estimated_tokens(),
        }
    }
}

// === impl Cluster ===

impl Cluster {
    /// Workers for a request, none of those that it has `tried`; `None` if all that could serve it
    /// are full.
    ///
    /// # Errors
    ///
    /// If no eligible worker could serve it.
    pub(crate) fn choose(
        &self,
        wanted: &Wanted<'_>,
        tried: &[Arc<str>],
    ) -> Result<Option<Team>, RouteError> {
        if !self.is_paired() {
            let worker = self.pick(Role::Plain, wanted, tried, None)?;
            return Ok(worker.and_then(|worker| take(&worker, wanted)).map(Team::Plain));
        }
        // No place is taken before both are found: giving one back would tell those who wait.
        let Some(prefill) = self.pick(Role::Prefill, wanted, tried, None)? else {
            return Ok(None);
        };
        let Some(decode) = self.pick(Role::Decode, wanted, tried, Some(&prefill))? else {
            return Ok(None);
        };
        Ok(take_both(&prefill, &decode, wanted))
    }

    /// A decode worker for a request whose prompt `prefill` has read.
    ///
    /// # Errors
    ///
    /// If no eligible worker could serve it.
    pub(crate) fn choose_decode(
        &self,
        wanted: &Wanted<'_>,
        tried: &[Arc<str>],
        prefill: &Arc<Worker>,
    ) -> Result<Option<Place>, RouteError> {
        let decode = self.pick(Role::Decode, wanted, tried, Some(prefill))?;
        Ok(decode.and_then(|decode| take(&decode, wanted)))
    }

    /// Places at the very workers of an attempt; `None` if one of them is full or gets no more
    /// requests.
    pub(crate) fn choose_again(&self, wanted: &Wanted<'_>, way: &Upstream) -> Option<Team> {
        let live = self.live.look();
        let find = |url: &Option<Arc<str>>| {
            let url = url.as_ref()?;
            live.iter().find(|worker| worker.url() == url && worker.is_eligible())
        };
        let decode = find(&way.decode)?;
        if !self.is_paired() {
            return take(decode, wanted).map(Team::Plain);
        }
        take_both(find(&way.prefill)?, decode, wanted)
    }

    /// A worker of a role with a place, one that can work together with `other`.
    fn pick(
        &self,
        role: Role,
        wanted: &Wanted<'_>,
        tried: &[Arc<str>],
        other: Option<&Arc<Worker>>,
    ) -> Result<Option<Arc<Worker>>, RouteError> {
        let live = self.live.look();
        let live: &[Arc<Worker>] = &live;
        let policy = &self.policies[role as usize];
        let threshold = self.config.admission.kv_threshold.filter(|_| role != Role::Prefill);
        let reads = policy.needs_load() || threshold.is_some();
        let fit = self.is_mixed().then(|| Fit::new(live, role, wanted.model, other));
        let (mut is_served, mut someone) = (false, false);
        let mut workers = Vec::new();
        let mut candidates = Vec::new();
        for worker in live.iter().filter(|worker| worker.role() == role) {
            if !fit.as_ref().is_none_or(|fit| fit.admits(worker)) {
                continue;
            }
            is_served = true;
            if !worker.is_eligible() || tried.contains(worker.url()) {
                continue;
            }
            someone = true;
            let candidate = self.candidate(worker, reads);
            if worker.has_place() && threshold.is_none_or(|most| candidate.fullness() <= most) {
                workers.push(worker);
                candidates.push(candidate);
            }
        }
        match wanted.model {
            Some(model) if fit.is_some_and(|fit| !fit.is_model_known()) && !is_served => {
                return Err(RouteError::ModelNotFound(model.to_owned()));
            }
            _ if !someone => return Err(RouteError::NoWorker(role)),
            _ => {}
        }
        let picked = policy.pick(&candidates, &wanted.hint);
        Ok(picked.map(|picked| workers[picked].clone()))
    }

    fn candidate<'a>(&self, worker: &'a Worker, reads: bool) -> Candidate<'a> {
        let load = self.loads.get().filter(|_| reads).and_then(|loads| loads.load(worker.url()));
        let pending_tokens = load.map_or(0, |load| worker.tokens_since(load.read_at));
        Candidate { url: worker.url(), in_flight: worker.in_flight(), load, pending_tokens }
    }
}

/// Takes a place at a worker, if it has one still.
fn take(worker: &Arc<Worker>, wanted: &Wanted<'_>) -> Option<Place> {
    let place = Place::take(worker)?;
    worker.send_tokens(wanted.tokens);
    Some(place)
}

/// Takes a place at each of a pair, if both have one still.
fn take_both(prefill: &Arc<Worker>, decode: &Arc<Worker>, wanted: &Wanted<'_>) -> Option<Team> {
    let (prefill, decode) = (Place::take(prefill)?, take(decode, wanted)?);
    prefill.worker().send_tokens(wanted.tokens);
    Some(Team::Pair { prefill, decode })
}

// === impl Candidate ===

impl Candidate<'_> {
    /// The share of its KV cache that is taken, what is on its way included; 0 if it is not known.
    fn fullness(&self) -> f64 {
        let Some(load) = self.load else { return 0.0 };
        #[expect(
            clippy::cast_precision_loss,
            reason = "a share of so many tokens is no less exact"
        )]
        let pending = load
            .capacity_tokens
            .filter(|&capacity| capacity > 0)
            .map_or(0.0, |capacity| self.pending_tokens as f64 / capacity as f64);
        load.usage_ratio + pending
    }
}
