//! Simulated SGLang and vLLM engines for demos, tests and benches.
//!
//! A [`SimEngine`] is a prefill, decode or plain server with the HTTP surface, JSON shapes, error
//! texts and `/metrics` page of SGLang 0.5.23 or vLLM 0.32.0, as recorded from real engines. What is
//! invented is the text: words drawn from a small vocabulary by a hash of the prompt, so that both
//! halves of a prefill/decode pair agree on it. Prefill and decode meet over the prefill's bootstrap
//! port or side channel, so a pair works across processes as well as inside one.
//!
//! [`replay`] is a plain TCP engine that answers with bytes of the test's choosing: recorded
//! answers verbatim, or broken ones.
//!
//! Everything binds loopback unless told otherwise and runs on a current-thread runtime.

mod api;
mod bootstrap;
mod clock;
mod config;
mod engine;
mod error;
mod faults;
mod info;
mod join;
mod metrics;
mod rank;
pub mod replay;
mod seen;
mod sequence;
mod server;
mod state;
mod sync;
mod text;
mod totals;

pub use plimsoll_wire::{Engine, Role};

pub use self::{
    config::SimConfig,
    engine::SimEngine,
    error::SimError,
    faults::{Fault, FaultAction, Faults},
    seen::SeenRequest,
    totals::Totals,
};
