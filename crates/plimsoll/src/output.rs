//! What a command prints, and for whom.

use std::{
    env,
    io::{self, IsTerminal, Write},
};

/// Writes `text` to standard output. That nobody reads it, as behind `| head`, is no error: what the
/// command found out is in its exit code as well.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

/// Whether what is written to `stream` may be coloured: see <https://no-color.org>.
pub(crate) fn takes_colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
