//! What is read anew while the process runs, at `SIGHUP`: workers, the level of the log and the
//! certificate.

use std::{ffi::OsString, fmt};

use plimsoll_router::Cluster;
use plimsoll_wire::Backend;

use super::assembly::workers;
#[cfg(feature = "kubernetes")]
use crate::flags::Pods;
#[cfg(feature = "tls")]
use crate::tls::{Identity, Serving};
use crate::{
    flags::{self, Command, Settings, UsageError, WorkerName},
    logs::Logs,
};

/// The command line and the environment, which name a file that may have changed. They may hold keys:
/// nothing of them is shown.
pub(crate) struct Reload {
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    logs: Logs,
    /// The workers that were configured last.
    configured: Vec<Backend>,
    /// The names that are followed.
    names: Vec<WorkerName>,
    /// The pods that are.
    #[cfg(feature = "kubernetes")]
    pods: Option<Pods>,
    /// What clients are shown.
    #[cfg(feature = "tls")]
    tls: Option<Serving>,
}

// === impl Reload ===

impl Reload {
    /// What was started with `settings`, as these arguments and variables say.
    pub(crate) fn new(
        arguments: Vec<OsString>,
        variables: Vec<(OsString, OsString)>,
        logs: Logs,
        settings: &Settings,
    ) -> Self {
        let (configured, names) = (workers(&settings.topology), settings.worker_names.clone());
        Self {
            arguments,
            variables,
            logs,
            configured,
            names,
            #[cfg(feature = "kubernetes")]
            pods: settings.pods.clone(),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Shows clients here what is in the certificate's file by then.
    #[cfg(feature = "tls")]
    pub(super) fn with_tls(self, tls: Option<Serving>) -> Self {
        Self { tls, ..self }
    }

    /// Reads everything once more. Workers that are configured no longer are drained, new ones come;
    /// those that came by `POST /workers` stay. A configuration that is wrong changes nothing.
    pub(super) fn apply(&mut self, cluster: &Cluster) {
        match self.read() {
            Ok(settings) => {
                let wanted = workers(&settings.topology);
                if wanted.iter().any(|worker| !cluster.needed_roles().contains(&worker.role)) {
                    return tracing::error!(
                        "the configuration stays as it was: pairs and plain workers cannot be \
                         exchanged without a restart"
                    );
                }
                if settings.worker_names != self.names {
                    tracing::warn!("--prefill-dns and --decode-dns have changed: restart for that");
                }
                #[cfg(feature = "kubernetes")]
                if settings.pods != self.pods {
                    tracing::warn!("the flags about pods have changed: restart for that");
                }
                #[cfg(feature = "tls")]
                self.show(settings.identity.as_ref());
                self.logs.set_level(settings.log_level);
                self.change_workers(cluster, wanted);
            }
            Err(error) => tracing::error!("the configuration stays as it was: {error}"),
        }
    }

    fn read(&self) -> Result<Settings, UsageError> {
        let command = flags::parse(self.arguments.clone(), self.variables.clone())?;
        // What runs was started by this very command.
        let Command::Launch(launch) = command else { return Err(UsageError::Nothing) };
        flags::resolve(&launch)
    }

    /// Shows clients this certificate from now on.
    #[cfg(feature = "tls")]
    fn show(&self, identity: Option<&Identity>) {
        match (&self.tls, identity) {
            (Some(tls), Some(identity)) if tls.show(identity) => {
                tracing::info!("new connections are shown another certificate");
            }
            (Some(_), Some(_)) | (None, None) => {}
            _ => tracing::warn!("--tls-cert-path has come or gone: restart for that"),
        }
    }

    fn change_workers(&mut self, cluster: &Cluster, wanted: Vec<Backend>) {
        let (before, mut changes) = (std::mem::replace(&mut self.configured, wanted), 0);
        let there = cluster.workers();
        // It may have come by `POST /workers`.
        let is_there =
            |worker: &Backend| there.iter().any(|it| it.backend() == worker && !it.is_draining());
        for gone in before.iter().filter(|worker| !self.configured.contains(worker)) {
            changes += 1;
            if let Err(error) = cluster.remove(&gone.url) {
                tracing::warn!("{error}");
            }
        }
        // One that is left out, say because it is draining still, comes with the next signal.
        self.configured.retain(|worker| {
            if before.contains(worker) || is_there(worker) {
                return true;
            }
            changes += 1;
            let added = cluster.add(worker.clone());
            if let Err(error) = &added {
                tracing::error!("a worker is left out: {error}");
            }
            added.is_ok()
        });
        tracing::info!("the configuration was read anew; workers changed: {changes}");
    }
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reload").finish_non_exhaustive()
    }
}
