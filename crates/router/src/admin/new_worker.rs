use std::num::NonZero;

use plimsoll_wire::{Backend, Role};
use serde::Deserialize;

use super::AdminError;

/// A worker as `POST /workers` describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewWorker {
    url: String,
    role: Option<String>,
    bootstrap_port: Option<NonZero<u16>>,
}

// === impl NewWorker ===

impl NewWorker {
    /// Reads a body. Without a role the worker is a plain one.
    ///
    /// # Errors
    ///
    /// If it is not JSON, lacks the URL, or holds what is not known here.
    pub(super) fn read(body: &[u8]) -> Result<Backend, AdminError> {
        let Self { url, role, bootstrap_port } =
            serde_json::from_slice(body).map_err(|error| AdminError::Body(error.to_string()))?;
        let role = role.map_or(Ok(Role::Plain), |role| role.parse());
        let role = role.map_err(AdminError::UnknownRole)?;
        Ok(Backend { url: url.into(), role, bootstrap_port: bootstrap_port.map(NonZero::get) })
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::Role;

    use super::NewWorker;

    #[test]
    fn what_a_body_may_say() {
        for (body, role, port) in [
            (r#"{"url":"http://a"}"#, Role::Plain, None),
            (r#"{"url":"http://a","role":null,"bootstrap_port":null}"#, Role::Plain, None),
            (r#"{"role":"decode","url":"http://a"}"#, Role::Decode, None),
            (r#"{"url":"http://a","role":"prefill","bootstrap_port":9}"#, Role::Prefill, Some(9)),
        ] {
            let backend = NewWorker::read(body.as_bytes()).unwrap();
            assert_eq!((backend.role, backend.bootstrap_port), (role, port), "{body}");
            assert_eq!(&*backend.url, "http://a");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (body, named) in [
            ("", "EOF"),
            ("[]", "url"),
            ("{}", "`url`"),
            (r#"{"url":"http://a","worker_type":"x"}"#, "`worker_type`"),
            (r#"{"url":"http://a","role":"both"}"#, "'both'"),
            (r#"{"url":"http://a","bootstrap_port":0}"#, "`0`"),
            (r#"{"url":"http://a","bootstrap_port":70000}"#, "`70000`"),
            (r#"{"url":"http://a"}x"#, "trailing"),
        ] {
            let error = NewWorker::read(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(named), "{body}: {error}");
        }
    }
}
