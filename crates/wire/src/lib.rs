//! Facts about OpenAI-format traffic, without I/O.
//!
//! Everything here works on bytes that somebody else reads and writes: no sockets, no async, no
//! clock. That is what lets the same code serve the meter, the router and the simulated engines,
//! and lets it be fuzzed and benched alone.
//!
//! - [`sse`]: finds the events of a stream, however the network cut it.
//! - [`reply`]: what an event or a JSON answer says: tokens, text, errors, the end.
//! - [`peek`]: what a request says, in one pass over its bytes.
//! - [`edit`]: members put into a JSON body as bytes, the client's own bytes uncopied.
//! - [`endpoint`], [`topology`], [`upstream`]: the words that the other crates share.

mod count;
pub mod edit;
pub mod endpoint;
mod json;
pub mod peek;
pub mod reply;
pub mod sse;
pub mod topology;
pub mod upstream;
mod usage;

pub use self::{
    edit::Splice,
    endpoint::Endpoint,
    peek::{PeekError, PeekSlot, RequestPeek},
    topology::{Backend, Engine, Role},
    upstream::Upstream,
    usage::Usage,
};
