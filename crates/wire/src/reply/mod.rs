//! What an engine's reply says: tokens, text, errors, the end.
//!
//! [`ReplyReader`] reads a reply of either form: a stream's events as they pass, by
//! [`StreamReader`], a JSON answer once it is there whole, by [`read_answer`]. None of them fails:
//! what cannot be read is said to be unknown.

mod answer;
mod event;
mod names;
mod reader;
mod shape;
mod stream;
mod text;

pub use self::{
    answer::{Answer, read_answer},
    event::{EventFacts, lone_usage},
    reader::{Reply, ReplyReader, is_event_stream},
    stream::StreamReader,
};
