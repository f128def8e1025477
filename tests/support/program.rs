//! The programs under test, built as the tests themselves were.
//!
//! They belong to other packages, so Cargo says nothing of where they are. They are built with the
//! profile and into the target directory of the running test, once a run. The binary has the
//! features that the tests have.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The binary.
pub(crate) fn plimsoll() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let mut what = vec!["--bin", "plimsoll"];
        if cfg!(feature = "kubernetes") {
            what.extend(["--features", "plimsoll/kubernetes"]);
        }
        if cfg!(feature = "tls") {
            what.extend(["--features", "plimsoll/tls"]);
        }
        build(&what, "plimsoll")
    })
}

/// An example of the package `examples`.
pub(crate) fn example(name: &str) -> PathBuf {
    build(&["--package", "examples", "--example", name], &format!("examples/{name}"))
}

fn build(what: &[&str], file: &str) -> PathBuf {
    let test = env::current_exe().expect("the path of the test");
    // <target directory>/<profile>/deps/<test>
    let mut above = test.ancestors().skip(2);
    let output = above.next().expect("a directory of the profile");
    let target = above.next().expect("a target directory");
    let profile = match output.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command.arg("build").args(what).args(["--profile", profile]).arg("--target-dir").arg(target);
    let built = command.output().expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    output.join(format!("{file}{}", env::consts::EXE_SUFFIX))
}
