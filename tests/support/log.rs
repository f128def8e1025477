//! A usage log.

use std::{fs, path::PathBuf};

use serde_json::Value;

use super::{folder::Folder, wait::eventually};

/// A usage log of a test's own, removed at its end.
pub(crate) struct Log(Folder);

// === impl Log ===

impl Log {
    pub(crate) fn new() -> Self {
        Self(Folder::new())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path("usage.jsonl")
    }

    pub(crate) fn flag(&self) -> String {
        format!("--usage-log {}", self.path().display())
    }

    /// The lines so far, each whole.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path()).unwrap_or_default();
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
