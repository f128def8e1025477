//! Where a worker is not what the router was told that it is.

use std::fmt;

use plimsoll_wire::{Backend, Role, topology::DEFAULT_BOOTSTRAP_PORT};

/// Something that an engine says of itself and the configuration says otherwise: no answer shows it.
/// A wrong bootstrap port makes decode wait for a hand-over that never comes, and a prefill engine
/// that is taken for decode ends each answer after its first token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It runs for another role.
    Role {
        /// By the configuration.
        given: Role,
        /// By SGLang's `disaggregation_mode`; plain where that is `null`.
        own: Role,
    },
    /// Its bootstrap server listens elsewhere.
    BootstrapPort {
        /// By the configuration; `None` leaves it to decode, which looks at port 8998.
        given: Option<u16>,
        /// SGLang's `disaggregation_bootstrap_port`.
        own: u16,
    },
}

// === impl Mismatch ===

impl Mismatch {
    /// The first difference between what was given and what an engine says, of which it may leave
    /// out either.
    pub(crate) fn of(given: &Backend, role: Option<Role>, port: Option<u16>) -> Option<Self> {
        if let Some(own) = role.filter(|own| *own != given.role) {
            return Some(Self::Role { given: given.role, own });
        }
        // Every SGLang has the argument; only of prefill it counts.
        let own = port.filter(|_| given.role == Role::Prefill)?;
        let given = given.bootstrap_port;
        (own != given.unwrap_or(DEFAULT_BOOTSTRAP_PORT))
            .then_some(Self::BootstrapPort { given, own })
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Role { given: Role::Plain, own } => {
                write!(f, "it runs for {own} and is given as a plain worker: ")?;
                write!(f, "give it with --{own}, or start it without --disaggregation-mode")
            }
            Self::Role { given, own: Role::Plain } => {
                write!(f, "it is given as {given} and hands no KV cache over: ")?;
                write!(f, "start it with --disaggregation-mode {given}")
            }
            Self::Role { given, own } => {
                write!(f, "it is given as {given} and runs for {own}: give it with --{own}")
            }
            Self::BootstrapPort { given, own } => {
                write!(f, "its bootstrap port is {own}, and ")?;
                match given {
                    Some(given) => write!(f, "{given} was given: ")?,
                    None => write!(
                        f,
                        "none was given, so that decode looks at {DEFAULT_BOOTSTRAP_PORT}: "
                    )?,
                }
                write!(f, "requests will hang until it is --prefill URL {own}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(role: Role, bootstrap_port: Option<u16>) -> Backend {
        Backend { url: "http://w".into(), role, bootstrap_port }
    }

    #[test]
    fn only_what_both_say_can_differ() {
        let prefill = backend(Role::Prefill, Some(8998));
        for (role, port, wanted) in [
            (None, None, None),
            (Some(Role::Prefill), Some(8998), None),
            (
                Some(Role::Prefill),
                Some(9001),
                Some(Mismatch::BootstrapPort { given: Some(8998), own: 9001 }),
            ),
            (
                Some(Role::Decode),
                Some(9001),
                Some(Mismatch::Role { given: Role::Prefill, own: Role::Decode }),
            ),
        ] {
            assert_eq!(Mismatch::of(&prefill, role, port), wanted);
        }
        let unsaid = backend(Role::Prefill, None);
        assert_eq!(Mismatch::of(&unsaid, None, Some(8998)), None);
        let elsewhere = Mismatch::of(&unsaid, None, Some(9001)).map(|it| it.to_string());
        assert!(
            elsewhere.is_some_and(|text| text.contains("none was given, so that decode looks"))
        );
        assert_eq!(Mismatch::of(&backend(Role::Decode, None), None, Some(8998)), None);
    }

    #[test]
    fn it_says_what_to_do() {
        for (given, own, words) in [
            (Role::Decode, Role::Prefill, "give it with --prefill"),
            (Role::Plain, Role::Decode, "give it with --decode, or start it without"),
            (Role::Prefill, Role::Plain, "start it with --disaggregation-mode prefill"),
        ] {
            let text = Mismatch::Role { given, own }.to_string();
            assert!(text.contains(words), "{text}");
        }
    }
}
