//! Files of a test.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// A directory of a test's own. It goes away with the test.
pub(crate) struct Folder(PathBuf);

// === impl Folder ===

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("plimsoll-e2e-{}-{number}", process::id()));
        fs::create_dir(&path).expect("a directory");
        Self(path)
    }

    /// Where a file is, or could be.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        Path::join(&self.0, name)
    }

    /// Writes a file, and says where it is, for a command line.
    pub(crate) fn put(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
