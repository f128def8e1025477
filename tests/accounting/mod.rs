//! What a bill rests on: the usage log, tenants, clients that leave, and that all counts agree.

mod apis;
mod conservation;
mod engines;
mod leaving;
mod log;
mod tenants;

use std::{
    env, fs,
    path::PathBuf,
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use serde_json::Value;

use crate::support::eventually;

const CHAT: &str = "/v1/chat/completions";

/// A usage log of a test's own, removed at its end.
pub(crate) struct Log(PathBuf);

/// Where a record's completeness is `exact`: prompt and completion tokens.
fn exact(line: &Value) -> Option<(u64, u64)> {
    let count = |name: &str| line["usage"][name].as_u64();
    (line["completeness"] == "exact").then(|| Some((count("prompt")?, count("completion")?)))?
}

// === impl Log ===

impl Log {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(env::temp_dir().join(format!("plimsoll-usage-{}-{number}.jsonl", process::id())))
    }

    fn flag(&self) -> String {
        format!("--usage-log {}", self.0.display())
    }

    /// The lines so far, each whole.
    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// The lines once there are `count`.
    async fn wait(&self, count: usize) -> Vec<Value> {
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
