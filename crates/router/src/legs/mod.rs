//! The legs of a request: what is sent to which worker, and whose answer the client gets.
//!
//! A leg is an HTTP exchange with one worker: a [`Head`], then a [`LegBody`]. A plain request has
//! one. A request of an SGLang pair has two at the same time, with the same bytes, and
//! [`pair::answer`] decides: the first failure of either leg cancels the other and is the answer;
//! else decode's answer is.
//!
//! The prefill worker's own reply says how much of the prompt was cached. It may end after decode's
//! last byte, so once the client has its whole answer the [`prefill`] leg is left to end by itself,
//! for 2 s at most: the one task that outlives a request.

mod head;
mod idle;
mod leg_body;
pub(crate) mod pair;
pub(crate) mod prefill;
mod sglang;

pub(crate) use self::{head::Head, leg_body::LegBody, sglang::with_bootstrap};
