//! What the benches share: the traffic of an engine, and an engine that plays it without sockets.
//!
//! - [`traffic`]: events, answers and requests as SGLang 0.5.23 and its clients send them.
//! - [`engine`]: a bare tower service whose streamed answer is a script, and what reads it.

pub mod engine;
pub mod traffic;

/// Requests between two times that piled-up histogram samples are taken in: a service does so on a task
/// of its own.
pub const UPKEEP: usize = 1024;

/// Content events of one stream, in every bench that plays whole streams.
pub const CONTENT_EVENTS: usize = 256;
