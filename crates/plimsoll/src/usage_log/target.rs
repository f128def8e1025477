use std::{
    fs::{File, Metadata},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
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

    /// Whether it ends amid a line, as one that was cut by a full disk or the end of a process does.
    /// Not known of what cannot be read.
    pub(super) fn is_torn(&self) -> Option<bool> {
        let Self::File { path, file } = self else { return None };
        let about = file.metadata().ok().filter(Metadata::is_file)?;
        if about.len() == 0 {
            return Some(false);
        }
        last_byte(path).ok().map(|last| last != b'\n')
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

fn open(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

fn last_byte(path: &Path) -> io::Result<u8> {
    let (mut file, mut last) = (File::open(path)?, [0]);
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last[0])
}
