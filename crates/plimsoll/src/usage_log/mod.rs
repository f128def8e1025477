//! One line of JSON for each finished request.

mod line;
mod target;
mod writer;

use std::{
    fmt::Write,
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use plimsoll_meter::{ChannelSink, Record, Sink, channel};
use tokio::{runtime, sync::mpsc};

use self::{
    target::Target,
    writer::{Command, Writer},
};
use crate::PageSource;

/// Records that may wait to be written, unless told otherwise: 1.6 s of 5,000 requests a second.
const QUEUE: usize = 8192;

/// Writes one line of JSON for each finished request, for those who charge for tokens.
///
/// The members are `ts` (RFC 3339, UTC, the end of the response body), `id`, `endpoint`, `model`,
/// `tenant`, `stream`, `status` (0 if the client left before any), `outcome`, `completeness`,
/// `usage{prompt,cached,completion,reasoning}`, `lower_bound{completion}`,
/// `timing{first_byte_ms,first_token_ms,total_ms}`, `chunks`, `attempts`, `prefill`, `decode` and
/// `finish_reasons`. What is not known is null. There is no text of a prompt or an answer, and no
/// key, nor anything made from one.
///
/// A request never waits for its line: a thread of its own writes them, and what comes while the
/// queue is full, or cannot be written, is [counted](UsageLogSink::dropped) instead.
///
/// ```no_run
/// use plimsoll::{MeterLayer, UsageLog};
///
/// # fn main() -> std::io::Result<()> {
/// let log = UsageLog::to_file("usage.jsonl")?;
/// let layer = MeterLayer::new(log.sink());
/// // At the end, once no request runs:
/// log.close();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct UsageLog {
    sink: UsageLogSink,
    commands: mpsc::Sender<Command>,
    writer: thread::JoinHandle<()>,
}

/// Sends records to a [`UsageLog`].
#[derive(Clone, Debug)]
pub struct UsageLogSink {
    queue: Arc<ChannelSink>,
    /// Lines that could not be written.
    lost: Arc<AtomicU64>,
}

// === impl UsageLog ===

impl UsageLog {
    /// A log that is appended to the file at `path`, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, or the thread cannot be started.
    pub fn to_file(path: impl Into<PathBuf>) -> io::Result<Self> {
        Self::start(Target::file(path.into())?, QUEUE)
    }

    /// A log on standard output.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn to_stdout() -> io::Result<Self> {
        Self::start(Target::Stdout, QUEUE)
    }

    fn start(target: Target, queue: usize) -> io::Result<Self> {
        let (queue, records) = channel(queue);
        let (commands, received) = mpsc::channel(4);
        let lost = Arc::new(AtomicU64::new(0));
        let writer = Writer::new(target, lost.clone());
        let runtime = runtime::Builder::new_current_thread().build()?;
        let writer = thread::Builder::new()
            .name("usage-log".to_owned())
            .spawn(move || runtime.block_on(writer.run(records, received)))?;
        let sink = UsageLogSink { queue: Arc::new(queue), lost };
        Ok(Self { sink, commands, writer })
    }

    /// The sink to give to a layer.
    pub fn sink(&self) -> UsageLogSink {
        self.sink.clone()
    }

    /// Opens the file anew, after whoever rotates logs has moved it away. On standard output it does
    /// nothing.
    pub fn reopen(&self) {
        // A thread that is behind will do so anyway.
        let _ = self.commands.try_send(Command::Reopen);
    }

    /// Writes what waits and ends the thread. What comes later is dropped.
    pub fn close(self) {
        let Self { commands, writer, .. } = self;
        drop(commands);
        if writer.join().is_err() {
            tracing::error!("the usage log was not written to its end");
        }
    }
}

// === impl UsageLogSink ===

impl UsageLogSink {
    /// How many lines were dropped: the queue was full, or they could not be written.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped() + self.lost.load(Ordering::Relaxed)
    }
}

impl Sink for UsageLogSink {
    fn record(&self, record: &Record) {
        self.queue.record(record);
    }
}

impl PageSource for UsageLogSink {
    fn write(&self, page: &mut String) {
        let name = "plimsoll_usage_log_dropped_total";
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "# HELP {name} Lines that are missing in the usage log.\n# TYPE {name} counter\n{name} {}\n",
            self.dropped()
        );
    }
}

#[cfg(test)]
mod tests;
