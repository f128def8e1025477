use std::{fs, io, time::Duration};

/// The CPU time that the kernel's scheduler has counted for the threads of a process whose names begin
/// so; of this process if none is given.
pub(crate) fn of_threads(process: Option<u32>, names: &str) -> io::Result<Duration> {
    let process = process.map_or_else(|| "self".to_owned(), |id| id.to_string());
    let mut time = Duration::ZERO;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let thread = thread?.path();
        // One that has just ended took nothing worth a word.
        let read = |file| match fs::read_to_string(thread.join(file)) {
            Err(_) if !thread.exists() => Ok(String::new()),
            text => text,
        };
        if read("comm")?.starts_with(names) {
            let counts = read("schedstat")?;
            let on_cpu = counts.split_ascii_whitespace().next().unwrap_or("0");
            time += Duration::from_nanos(on_cpu.parse().map_err(io::Error::other)?);
        }
    }
    Ok(time)
}
