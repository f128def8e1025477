//! What every theme needs: the binary as a child process, an HTTP client that shows bytes, the
//! metrics page taken apart, engines that answer as told, and waiting with a limit.

mod captures;
mod command;
mod engines;
mod facts;
mod folder;
mod http;
mod log;
mod page;
mod plimsoll;
mod program;
mod wait;

#[cfg(feature = "kubernetes")]
pub(crate) use self::command::said_with;
pub(crate) use self::{
    captures::{Recorded, folder, streams},
    command::{said, said_into},
    engines::{
        Pair, chat, chunk, pair_line, posts, replay, room_of, sim, sim_pair, stream_of, text_event,
    },
    facts::{Counts, common, has_error, lower_bound, usage, without_usage},
    folder::Folder,
    http::{Answer, Call, Exchange},
    log::Log,
    page::{Page, Sample},
    plimsoll::Plimsoll,
    program::example,
    wait::{bounded, eventually, within},
};
