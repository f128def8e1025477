//! Simulated engines over real HTTP, held against recordings of SGLang 0.5.23 and vLLM 0.32.0.

mod client;
mod faults;
mod lifecycle;
mod metrics;
mod nixl;
mod pair;
mod replay;
mod shape;
mod vllm;
