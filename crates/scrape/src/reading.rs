//! One worker, its data ranks merged.

use std::fmt;

use plimsoll_wire::Role;

use crate::{
    mean::RatioMean,
    page::{Page, Values},
    signal::Signal,
    state::State,
};

/// What is known of a worker from elsewhere than its metrics page, as `/get_server_info` states it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    /// How many data ranks it has.
    pub data_ranks: Option<u32>,
    /// What the pool of one of them holds, in tokens.
    pub rank_capacity: Option<f64>,
}

/// What one worker's KV cache holds. `None` is not known, which is not 0. Counts are `f64`, as on the
/// pages: engines write them as floating-point numbers, and some follow from a ratio. None is below 0
/// or not a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The data ranks, in the order of their names.
    pub pools: Vec<Pool>,
    /// Requests in a batch, of all ranks that say so.
    pub running: Option<f64>,
    /// Requests in each queue, of all ranks that say so, in the order of [`Queue::ALL`].
    pub queued: [Option<f64>; Queue::ALL.len()],
    /// Tokens that the host tier holds.
    pub host_capacity: Option<f64>,
    /// Tokens in use in the host tier.
    pub host_used: Option<f64>,
    /// Share of the pool held for decode requests that do not run yet, from 0 to 1: of the rank with
    /// most. It is a part of what is used (SGLang 0.5.23).
    pub prealloc_ratio: Option<f64>,
    /// Tokens written in a second, of all ranks.
    pub generation_rate: Option<f64>,
    /// How the reading went.
    pub state: State,
}

/// Where a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// For a batch, or for a grammar.
    Waiting,
    /// Prefill: for decode's hand-shake.
    PrefillBootstrap,
    /// Prefill: for its KV cache to be sent.
    PrefillInflight,
    /// Decode: for room.
    DecodePrealloc,
    /// Decode: for its KV cache to come.
    DecodeTransfer,
}

/// The pool of one data rank. Counts are in tokens and not below 0, ratios from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// The rank's name, where the page tells them apart.
    pub rank: Option<String>,
    /// What it holds.
    pub capacity: Option<f64>,
    /// What requests hold of it.
    pub used: Option<f64>,
    /// What is neither used nor cached.
    pub available: Option<f64>,
    /// What is cached and held by no request.
    pub evictable: Option<f64>,
    /// Used by capacity, else as the engine says.
    pub usage_ratio: Option<f64>,
    /// How full the sliding-window pool is, on a model that has one.
    pub swa_ratio: Option<f64>,
    /// How full the pool of states is, on a model that has one.
    pub mamba_ratio: Option<f64>,
    /// That of the fullest pool of the rank, sliding windows and states included: from ratios that
    /// are not rounded, if there are any.
    pub usage_ratio_max: Option<f64>,
}

// === impl Reading ===

impl Reading {
    /// Merges the ranks of a page. Ranks that sleep hold nothing, and are left out.
    pub fn of(page: &Page, facts: &Facts) -> Self {
        let server = Server::of(page, facts);
        let awake = || {
            let ranks = page.ranks.iter();
            ranks.filter(|(_, values)| values.get(Signal::Awake) != Some(0.0))
        };
        let of_all = |signal| {
            let told = awake().filter(|(rank, _)| server.tells(rank.as_deref()));
            sum(told.map(|(_, values)| values.get(signal)))
        };
        let pools = awake().map(|(rank, values)| Pool::of(rank.clone(), values, &server));
        let pools: Vec<_> = pools.filter(Pool::says_something).collect();
        let state = State::of(page, &pools, server.ranks == Ranks::Mixed);
        let waiting = of_all(Signal::Waiting);
        let with_grammars = sum([waiting, of_all(Signal::GrammarWaiting)].into_iter());
        let queued = Queue::ALL.map(|queue| match queue {
            Queue::Waiting => with_grammars.filter(|_| waiting.is_some()),
            queue => of_all(queue.signal()),
        });
        let prealloc = awake().filter_map(|(_, values)| values.get(Signal::PreallocRatio));
        Self {
            pools,
            running: of_all(Signal::Running),
            queued,
            host_capacity: of_all(Signal::HostCapacity),
            host_used: of_all(Signal::HostUsed),
            prealloc_ratio: prealloc.reduce(f64::max),
            generation_rate: of_all(Signal::GenerationRate),
            state,
        }
    }

    /// What all pools hold that say so, in tokens.
    pub fn capacity(&self) -> Option<f64> {
        sum(self.pools.iter().map(|pool| pool.capacity))
    }

    /// Requests in one queue, of all ranks that say so.
    pub fn queued(&self, queue: Queue) -> Option<f64> {
        self.queued[queue as usize]
    }

    /// What requests hold of all pools that say so, in tokens.
    pub fn used(&self) -> Option<f64> {
        sum(self.pools.iter().map(|pool| pool.used))
    }

    /// Used by capacity over the pools that have both, from 0 to 1; where no capacity is known, the
    /// plain mean of the ratios.
    pub fn usage_ratio(&self) -> Option<f64> {
        let mut mean = RatioMean::default();
        self.pools.iter().for_each(|pool| mean.add(pool.usage_ratio, pool.capacity));
        mean.get()
    }

    /// How full the fullest pool is, from 0 to 1.
    pub fn usage_ratio_max(&self) -> Option<f64> {
        self.pools.iter().filter_map(|pool| pool.usage_ratio_max).reduce(f64::max)
    }
}

// === impl Queue ===

impl Queue {
    /// Every queue, in label order of the contract.
    pub const ALL: [Self; 5] = [
        Self::Waiting,
        Self::PrefillBootstrap,
        Self::PrefillInflight,
        Self::DecodePrealloc,
        Self::DecodeTransfer,
    ];

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::PrefillBootstrap => "prefill_bootstrap",
            Self::PrefillInflight => "prefill_inflight",
            Self::DecodePrealloc => "decode_prealloc",
            Self::DecodeTransfer => "decode_transfer",
        }
    }

    /// Whether a worker of this role has it: engines write 0 for the queues of the other roles.
    pub fn is_of(self, role: Role) -> bool {
        match self {
            Self::Waiting => true,
            Self::PrefillBootstrap | Self::PrefillInflight => role == Role::Prefill,
            Self::DecodePrealloc | Self::DecodeTransfer => role == Role::Decode,
        }
    }

    const fn signal(self) -> Signal {
        match self {
            Self::Waiting => Signal::Waiting,
            Self::PrefillBootstrap => Signal::PrefillBootstrap,
            Self::PrefillInflight => Signal::PrefillInflight,
            Self::DecodePrealloc => Signal::DecodePrealloc,
            Self::DecodeTransfer => Signal::DecodeTransfer,
        }
    }
}

/// The label value.
impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The sum of those that are known, if any is.
fn sum(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().reduce(|a, b| a + b)
}

/// What must be known of the whole to read one rank.
#[derive(Debug)]
struct Server {
    data_ranks: f64,
    rank_capacity: Option<f64>,
    ranks: Ranks,
    /// How many data ranks have no name of their own.
    nameless: u32,
}

/// How a page has the data ranks that have no name there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ranks {
    /// Each by itself.
    Told,
    /// As one, its counts added up and its ratios those of any one: SGLang up to 0.4.3.
    Summed,
    /// As one, which is any one of them at any time: SGLang 0.4.4 to 0.4.9. What is known of a rank
    /// by its name, from elsewhere, cannot be taken out of it.
    Mixed,
}

// === impl Server ===

impl Server {
    fn of(page: &Page, facts: &Facts) -> Self {
        let named = page.named_ranks().unwrap_or(0);
        let expected = facts.data_ranks.unwrap_or(1);
        let nameless = expected.saturating_sub(named);
        let merged = page.engine == Some("sglang") && page.ranks.contains_key(&None);
        let ranks = match (page.has_engine_type, named) {
            (true, _) if merged && expected > 1 && nameless > 0 => Ranks::Mixed,
            (false, 0) if merged && expected > 1 => Ranks::Summed,
            _ => Ranks::Told,
        };
        let on_page = u32::try_from(page.ranks.len()).unwrap_or(u32::MAX);
        Self {
            // A node that is gone takes its ranks off the page.
            data_ranks: f64::from(on_page.max(expected)),
            rank_capacity: facts.rank_capacity,
            ranks,
            nameless,
        }
    }

    /// What a page says of this rank is of one rank, or of all that it stands for.
    fn tells(&self, rank: Option<&str>) -> bool {
        self.ranks != Ranks::Mixed || rank.is_some()
    }

    /// What a rank holds, as is known from elsewhere.
    fn capacity_of(&self, rank: Option<&str>) -> Option<f64> {
        let stands_for = match self.ranks {
            Ranks::Mixed | Ranks::Summed if rank.is_none() => self.nameless,
            _ => 1,
        };
        finite(self.rank_capacity? * f64::from(stands_for))
    }
}

// === impl Pool ===

impl Pool {
    fn of(rank: Option<String>, values: &Values, server: &Server) -> Self {
        let tells = server.tells(rank.as_deref());
        let get = |signal| values.get(signal).filter(|_| tells);
        let available = get(Signal::Available);
        let evictable = get(Signal::Evictable);
        // Where there are other pools the headline is that of the fullest, and counts mix them.
        let mixed = get(Signal::SwaCapacity).is_some()
            || get(Signal::SwaRatio).is_some_and(|ratio| ratio > 0.0)
            || get(Signal::MambaRatio).is_some_and(|ratio| ratio > 0.0);
        let headline = get(Signal::HeadlineRatio).filter(|_| server.ranks == Ranks::Told);
        let own_ratio = get(Signal::FullRatio).or(headline.filter(|_| !mixed));
        let counted = get(Signal::Used)
            .or_else(|| get(Signal::MixedUsed).filter(|_| !mixed))
            .or_else(|| blocks(values, Signal::UsedBlocks))
            .filter(|_| tells);
        let capacity = capacity(rank.as_deref(), values, counted, server);
        let used = counted.or_else(|| Some((own_ratio? * capacity?).round()));
        let exact = match (counted, capacity) {
            (Some(used), Some(capacity)) if capacity > 0.0 => Some((used / capacity).min(1.0)),
            _ => None,
        };
        let swa_ratio = get(Signal::SwaRatio);
        let mamba_ratio = get(Signal::MambaRatio);
        // SGLang from 0.5.2 writes 0 for the pools that a model does not have: without the full pool's
        // own ratio theirs say nothing of it, and the headline does.
        let full =
            [get(Signal::FullRatio), exact].into_iter().flatten().reduce(f64::max).or(headline);
        let ratios = [full, swa_ratio, mamba_ratio];
        Self {
            rank,
            capacity,
            used,
            available,
            evictable,
            usage_ratio: exact.or(own_ratio).or(headline),
            swa_ratio: swa_ratio.filter(|&ratio| ratio > 0.0 || get(Signal::SwaCapacity).is_some()),
            mamba_ratio: mamba_ratio.filter(|&ratio| ratio > 0.0),
            usage_ratio_max: ratios.into_iter().flatten().reduce(f64::max),
        }
    }

    /// It is known how full it is.
    pub fn has_usage(&self) -> bool {
        self.used.is_some() || self.usage_ratio.is_some()
    }

    fn says_something(&self) -> bool {
        self.capacity.is_some() || self.has_usage()
    }
}

/// What the pool holds: as stated, or as its parts show where they are more; else by blocks; else by
/// what is used and how full that makes it, if that is not rounded.
fn capacity(
    rank: Option<&str>,
    values: &Values,
    used: Option<f64>,
    server: &Server,
) -> Option<f64> {
    let get = |signal| values.get(signal);
    let parts = || finite(get(Signal::Used)? + get(Signal::Available)? + get(Signal::Evictable)?);
    let stated = match (get(Signal::Capacity), parts()) {
        (Some(stated), Some(parts)) => Some(stated.max(parts)),
        (stated, parts) => stated.or(parts),
    };
    stated
        .or_else(|| blocks(values, Signal::Blocks))
        .or_else(|| Some(blocks(values, Signal::BlocksOfAllRanks)? / server.data_ranks))
        .or_else(|| server.capacity_of(rank))
        .or_else(|| {
            let ratio = get(Signal::FullRatio).filter(|&ratio| ratio > 0.0)?;
            finite((used? / ratio).round())
        })
}

/// What is made of several values, unless they are too large for that.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A number of blocks in tokens.
fn blocks(values: &Values, signal: Signal) -> Option<f64> {
    finite(values.get(signal)? * values.get(Signal::BlockTokens)?)
}
