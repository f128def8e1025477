use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use plimsoll_meter::Record;
use tokio::sync::mpsc;

use super::{line::Line, target::Target};

/// Lines that are written at once, at most.
const BATCH: usize = 256;

/// What the thread is told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Command {
    /// Open the file that has the name now.
    Reopen,
}

/// The thread that writes.
#[derive(Debug)]
pub(super) struct Writer {
    target: Target,
    lost: Arc<AtomicU64>,
    /// The last write failed: no more is said of it until one succeeds.
    failing: bool,
    /// A line was cut: the next one begins with a line end.
    torn: bool,
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(target: Target, lost: Arc<AtomicU64>) -> Self {
        let torn = target.is_torn().unwrap_or(false);
        Self { target, lost, failing: false, torn }
    }

    /// Writes what comes until nobody is left who may tell it something, then what is left.
    pub(super) async fn run(
        mut self,
        mut records: mpsc::Receiver<Record>,
        mut commands: mpsc::Receiver<Command>,
    ) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(Command::Reopen) => self.reopen(),
                    None => break,
                },
                count = records.recv_many(&mut batch, BATCH) => match count {
                    0 => break,
                    _ => self.write(&mut batch),
                },
            }
        }
        records.close();
        while records.recv_many(&mut batch, BATCH).await > 0 {
            self.write(&mut batch);
        }
    }

    fn reopen(&mut self) {
        match self.target.reopen() {
            // It may be the same file.
            Ok(()) => self.torn = self.target.is_torn().unwrap_or(self.torn),
            Err(error) => {
                tracing::error!("the usage log goes on where it was: cannot open it anew: {error}");
            }
        }
    }

    fn write(&mut self, batch: &mut Vec<Record>) {
        let mut lines = Vec::with_capacity(batch.len() * 512);
        if self.torn {
            lines.push(b'\n');
        }
        for record in batch.drain(..) {
            // Numbers, texts and times since 1970: it cannot fail.
            let _ = serde_json::to_writer(&mut lines, &Line::from(&record));
            lines.push(b'\n');
        }
        match self.target.write(&lines) {
            Ok(()) => (self.failing, self.torn) = (false, false),
            Err((written, error)) => {
                // The line end of a torn line is none of these.
                let whole = &lines[written.max(usize::from(self.torn))..];
                let missing = whole.iter().filter(|&&byte| byte == b'\n').count();
                self.lost.fetch_add(missing as u64, Ordering::Relaxed);
                if written > 0 {
                    self.torn = lines[written - 1] != b'\n';
                }
                if !self.failing {
                    tracing::error!("the usage log cannot be written: {error}");
                }
                self.failing = true;
            }
        }
    }
}
