use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that end the process.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

/// `SIGHUP`, which no longer ends the process once this is there.
#[derive(Debug)]
pub(super) struct HangUps(Signal);

// === impl HangUps ===

impl HangUps {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(signal(SignalKind::hangup())?))
    }

    /// The next one.
    pub(super) async fn next(&mut self) {
        self.0.recv().await;
    }
}

// === impl Signals ===

impl Signals {
    /// From here on these signals no longer end the process by themselves.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// The next one, `SIGTERM` or `SIGINT`.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
