//! The seeds of each fuzz target, and what it once fell over.

use std::{fs, path::Path};

/// Runs a check over all files below these folders, each whole and cut at some places.
fn run(check: fn(&[u8]), folders: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of seeds") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).expect("a seed");
            // A check may take long for what is long.
            let bytes = &bytes[..bytes.len().min(8 << 10)];
            for end in [bytes.len(), bytes.len() / 2, bytes.len() / 3] {
                check(&bytes[..end]);
            }
            files += 1;
        }
    }
    assert!(files >= 5, "{files} seeds");
}

#[test]
fn answers() {
    run(fuzz_checks::answer::check, &["fuzz/seeds/answer", "tests/fixtures/captures"]);
}

#[test]
fn command_lines() {
    run(fuzz_checks::command_line::check, &["fuzz/seeds/command_line"]);
}

#[test]
fn metrics_pages() {
    let folders = ["fuzz/seeds/exposition", "tests/fixtures/samples", "tests/fixtures/captures"];
    run(fuzz_checks::exposition::check, &folders);
}

#[test]
fn valid_metrics_pages() {
    run(fuzz_checks::page::check, &["tests/fixtures/samples"]);
}

#[test]
fn requests() {
    run(fuzz_checks::peek::check, &["fuzz/seeds/peek"]);
}

#[test]
fn streams() {
    run(fuzz_checks::sse::check, &["tests/fixtures/captures"]);
}
