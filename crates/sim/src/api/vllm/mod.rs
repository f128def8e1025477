//! The two inference APIs as vLLM 0.32.0 has them.

mod ask;
mod chat;
mod completions;
mod invalid;
mod transfer;
mod usage;

pub(super) use self::{ask::read, chat::Chat, completions::Completions};
use crate::{sequence::Sequence, state::Engine};

/// A member that is always null.
type Null = Option<()>;

/// A member that is null, or not there at all.
type MaybeNull = Option<Null>;

const NULL: MaybeNull = Some(None);

/// `system_fingerprint`: version and a hash of the configuration.
fn fingerprint(engine: &Engine) -> String {
    let (version, id) = (engine.config.told_version(), &engine.kept.engine_id);
    format!("vllm-{version}-{}", &id[..8])
}

fn finish_reason(sequence: &Sequence) -> &'static str {
    if sequence.task.ends_itself { "stop" } else { "length" }
}
