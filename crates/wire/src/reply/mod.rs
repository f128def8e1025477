//! What an engine's reply says: tokens, text, errors, the end.
//!
//! Two readers, one for each form of reply. [`StreamReader`] looks at the events of a stream as
//! they pass and keeps the last counts it saw; [`read_answer`] reads a JSON answer that is there
//! whole. Neither fails: what cannot be read is said to be unknown.

mod answer;
mod event;
mod names;
mod stream;
mod text;

pub use self::{
    answer::{Answer, read_answer},
    event::{EventFacts, lone_usage},
    stream::StreamReader,
};
