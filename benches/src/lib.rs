//! What the benches share: the traffic of an engine, and an engine that plays it without sockets.
//!
//! - [`traffic`]: events, answers and requests as SGLang 0.5.23 and its clients send them.
//! - [`engine`]: a bare tower service whose streamed answer is a script, and what reads it.

pub mod engine;
pub mod traffic;

/// Content events of one stream, in every bench that plays whole streams.
pub const CONTENT_EVENTS: usize = 256;
