//! Where a flag was set.

use std::{collections::BTreeMap, fmt, path::PathBuf};

/// Where one flag was set, so that an error can send the user there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// As `--flag`; also stands for a default.
    CommandLine {
        /// The flag, without dashes.
        flag: String,
    },
    /// In the environment.
    Environment {
        /// The variable's full name.
        variable: String,
    },
    /// In the file named by `--config`.
    File {
        /// The file, as named.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The key, which is a flag without dashes.
        key: String,
    },
}

/// The flags that were set anywhere, and where the setting that counts stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given(BTreeMap<String, Place>);

// === impl Place ===

impl Place {
    /// The command line, at `flag` (without dashes).
    pub(super) fn flag(flag: &str) -> Self {
        Self::CommandLine { flag: flag.to_owned() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine { flag } => write!(f, "--{flag}"),
            Self::Environment { variable } => f.write_str(variable),
            Self::File { path, line, key } => {
                write!(f, "{}:{line}: {}", path.display(), key.escape_debug())
            }
        }
    }
}

// === impl Given ===

impl Given {
    /// Whether `flag` (without dashes) was set.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.0.contains_key(flag)
    }

    /// Where `flag` (without dashes) was set; its name on the command line if it was not.
    pub(super) fn place(&self, flag: &str) -> Place {
        self.0.get(flag).cloned().unwrap_or_else(|| Place::flag(flag))
    }
}

impl FromIterator<(String, Place)> for Given {
    fn from_iter<I: IntoIterator<Item = (String, Place)>>(places: I) -> Self {
        Self(places.into_iter().collect())
    }
}
