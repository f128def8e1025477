//! The binary with arguments.

use std::{env, ffi::OsStr, process::Stdio};

use tokio::process::Command;

use super::program;

/// An exit code, standard output and standard error.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The binary with these arguments and these variables, and killed when dropped.
pub(super) fn command(line: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(program::plimsoll());
    command.args(line.split_whitespace()).kill_on_drop(true);
    for (name, _) in env::vars_os().filter(|(name, _)| is_heard(name)) {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What the binary says of a line, when it has ended.
pub(crate) async fn said(line: &str) -> Said {
    said_with(line, &[]).await
}

/// As [`said`], with these variables.
pub(crate) async fn said_with(line: &str, variables: &[(&str, &str)]) -> Said {
    let output = command(line, variables).output().await.expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// The exit code and standard error of a line whose standard output goes there.
pub(crate) async fn said_into(line: &str, out: impl Into<Stdio>) -> (Option<i32>, String) {
    let child = command(line, &[]).stdout(out).spawn().expect("it starts");
    let output = child.wait_with_output().await.expect("it ends");
    (output.status.code(), String::from_utf8(output.stderr).expect("text"))
}

/// A variable that the binary would hear of: its own, a cluster's, a proxy.
fn is_heard(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    name.starts_with("PLIMSOLL") || name.starts_with("KUBERNETES_") || name.ends_with("_PROXY")
}
