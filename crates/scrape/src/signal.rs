//! What engines say of themselves, whatever they call it.

/// One canonical signal. Token counts and capacities are in tokens, ratios from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Signal {
    /// Tokens that the pool of one data rank holds.
    Capacity,
    /// Tokens held by requests: cached tokens that could be evicted are not among them.
    Used,
    /// Tokens held by requests in the fullest of several pools, which may differ in size.
    MixedUsed,
    /// Tokens neither used nor cached.
    Available,
    /// Cached tokens that no request holds.
    Evictable,
    /// How full the engine says it is; may be rounded, and may be that of the fullest pool.
    HeadlineRatio,
    /// How full the full-attention pool is, not rounded.
    FullRatio,
    /// How full the sliding-window pool is.
    SwaRatio,
    /// How full the pool of states is.
    MambaRatio,
    /// Tokens that the sliding-window pool holds: there is one.
    SwaCapacity,
    /// Tokens in a block.
    BlockTokens,
    /// Blocks of one data rank.
    Blocks,
    /// Blocks of all data ranks together, said by each of them.
    BlocksOfAllRanks,
    /// Blocks held by requests.
    UsedBlocks,
    /// 1 if the engine is awake, 0 if it has given its memory back.
    Awake,
    /// Share of the pool held for requests that do not run yet.
    PreallocRatio,
    /// Requests in a batch.
    Running,
    /// Requests waiting for one.
    Waiting,
    /// Requests waiting for their grammar.
    GrammarWaiting,
    /// Prefill: requests waiting for decode's hand-shake.
    PrefillBootstrap,
    /// Prefill: requests whose KV cache is on its way.
    PrefillInflight,
    /// Decode: requests waiting for room.
    DecodePrealloc,
    /// Decode: requests whose KV cache is on its way.
    DecodeTransfer,
    /// Tokens in the host tier.
    HostUsed,
    /// Tokens that the host tier holds.
    HostCapacity,
    /// Tokens written in a second.
    GenerationRate,
    /// Speed of the last KV transfer, in bytes a second.
    TransferSpeed,
    /// Time of the last KV transfer, in seconds.
    TransferTime,
}

// === impl Signal ===

impl Signal {
    /// How many there are.
    pub(crate) const COUNT: usize = Self::TransferTime as usize + 1;

    /// A share, so above 1 it is no value.
    pub(crate) const fn is_ratio(self) -> bool {
        matches!(
            self,
            Self::HeadlineRatio
                | Self::FullRatio
                | Self::SwaRatio
                | Self::MambaRatio
                | Self::PreallocRatio
                | Self::Awake
        )
    }

    /// The ranks of one pool repeat each other, and may be read at different moments. The cautious
    /// one of their values stands: the least room, else the most load.
    pub(crate) fn reduce(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Capacity | Self::SwaCapacity | Self::Available | Self::Awake => a.min(b),
            _ => a.max(b),
        }
    }
}
