//! The legs of a request: what is sent to which worker, and whose answer the client gets.
//!
//! A leg is an HTTP exchange with one worker: a [`Head`], then a [`LegBody`]. A plain request has
//! one ([`lone`]). A request of a pair has two: with SGLang both at the same time, with the same
//! bytes ([`sglang`]), and [`pair::answer`] decides; with vLLM one after the other, the second with
//! what the first gave ([`nixl`]).
//!
//! The prefill worker's own reply says how much of the prompt was cached. It may end after decode's
//! last byte, so once the client has its whole answer the [`prefill`] leg is left to end by itself,
//! for 2 s at most: the one task that outlives a request, and the process waits for it
//! ([`Cluster::settled`](crate::Cluster::settled)).

mod head;
mod leg_body;
pub(crate) mod lone;
pub(crate) mod nixl;
pub(crate) mod pair;
pub(crate) mod prefill;
mod said;
pub(crate) mod sglang;

pub(crate) use self::{head::Head, leg_body::LegBody};
