use std::{
    fs::File,
    io::{self, Write},
    path::PathBuf,
};

/// Where the lines go.
#[derive(Debug)]
pub(super) enum Target {
    Stdout,
    File { path: PathBuf, file: File },
}

// === impl Target ===

impl Target {
    /// The file at `path`, to be appended to.
    pub(super) fn file(path: PathBuf) -> io::Result<Self> {
        let file = open(&path)?;
        Ok(Self::File { path, file })
    }

    /// The file that has its name now.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        if let Self::File { path, file } = self {
            *file = open(path)?;
        }
        Ok(())
    }

    /// Writes whole lines, so that nothing is left in a buffer. Says how many bytes were written
    /// before it failed.
    pub(super) fn write(&mut self, lines: &[u8]) -> Result<(), (usize, io::Error)> {
        let mut written = 0;
        while written < lines.len() {
            let rest = &lines[written..];
            let result = match self {
                Self::Stdout => io::stdout().lock().write(rest),
                Self::File { file, .. } => file.write(rest),
            };
            match result {
                Ok(0) => return Err((written, io::ErrorKind::WriteZero.into())),
                Ok(more) => written += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err((written, error)),
            }
        }
        match self {
            Self::Stdout => io::stdout().flush().map_err(|error| (written, error)),
            Self::File { .. } => Ok(()),
        }
    }
}

fn open(path: &PathBuf) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}
