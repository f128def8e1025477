//! A usage log.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use serde_json::Value;

use super::wait::eventually;

/// A usage log of a test's own, removed at its end.
pub(crate) struct Log(PathBuf);

// === impl Log ===

impl Log {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(env::temp_dir().join(format!("plimsoll-usage-{}-{number}.jsonl", process::id())))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn flag(&self) -> String {
        format!("--usage-log {}", self.0.display())
    }

    /// The lines so far, each whole.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// The lines once there are `count`.
    pub(crate) async fn wait(&self, count: usize) -> Vec<Value> {
        eventually(async || {
            let lines = self.lines();
            if lines.len() == count { Ok(lines) } else { Err(format!("{lines:#?}")) }
        })
        .await
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
