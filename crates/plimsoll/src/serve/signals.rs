use std::{io, sync::Arc};

use plimsoll::UsageLog;
use plimsoll_router::Cluster;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Reload;

/// The signals that end the process.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

/// `SIGHUP`, which no longer ends the process once this is there.
#[derive(Debug)]
pub(super) struct HangUps(Signal);

/// What is done at each of them.
pub(super) struct HangUp<'a> {
    pub(super) cluster: Arc<Cluster>,
    pub(super) reload: Option<&'a mut Reload>,
    pub(super) log: Option<&'a UsageLog>,
}

// === impl HangUp ===

impl HangUp<'_> {
    /// Opens the usage log anew at each `SIGHUP`, and reads the configuration. Never returns.
    pub(super) async fn heed(&mut self, hang_ups: &mut HangUps) {
        loop {
            hang_ups.next().await;
            if let Some(log) = self.log {
                log.reopen();
            }
            if let Some(reload) = &mut self.reload {
                reload.apply(&self.cluster);
            }
        }
    }
}

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
