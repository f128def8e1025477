//! Simulated engines over real HTTP, held against recordings of SGLang 0.5.23 in `fixtures/`.

mod client;
mod faults;
mod lifecycle;
mod metrics;
mod pair;
mod replay;
mod shape;
