//! What an engine's reply says: tokens, text, errors, the end.
//!
//! [`ReplyReader`] reads a reply of either form: a stream's events as they pass, by
//! [`StreamReader`], a JSON answer once it is there whole, by [`read_answer`]. None of them fails:
//! what cannot be read is said to be unknown.
//!
//! Each format has a module of its own: chat and completions, `/generate`, Responses, Messages.

mod answer;
mod chat;
mod choices;
mod facts;
mod generate;
mod messages;
mod reader;
mod responses;
mod stream;

pub use self::{
    answer::{Answer, read_answer},
    chat::LoneUsage,
    facts::{Asked, EventFacts},
    reader::{Reply, ReplyReader, is_encoded, is_event_stream},
    stream::StreamReader,
};
