//! Keys never reach an output.

use std::any::TypeId;

use clap::CommandFactory;

use super::{
    super::{Flags, Secret, syntax::SECRET},
    *,
};

const KEY: &str = "sk-verysecret";

#[test]
fn a_secret_is_never_formatted() {
    let secret = Secret::from(KEY);
    assert_eq!(secret.expose(), KEY);
    assert!(!format!("{secret} {secret:?} {secret:#?}").contains(KEY));
}

#[test]
fn errors_know_which_flags_are_keys() {
    let command = Flags::command();
    let keys = command
        .get_arguments()
        .filter(|argument| argument.get_value_parser().type_id() == TypeId::of::<Secret>())
        .filter_map(|argument| Some(format!("--{}", argument.get_long()?)));
    assert_eq!(keys.collect::<Vec<_>>(), SECRET);
}

#[test]
fn parsed_and_resolved_flags_do_not_show_keys() {
    let file = Config::new(&format!("worker-api-key = '{KEY}'"));
    let launch = launch_in(&file.after(&format!("{WORKER} --api-key {KEY}")), &[]).unwrap();
    let settings = resolve(&launch).unwrap();
    assert_eq!(settings.worker_api_key.as_ref().unwrap().expose(), KEY);
    assert!(!format!("{launch:?} {settings:?}").contains(KEY));
}

#[test]
fn errors_do_not_show_keys() {
    for line in [
        format!("--api-key a {KEY}"),
        format!("--api-key=a {KEY}"),
        format!("--api-key --{KEY}"),
        format!("--api-key -{KEY}"),
        format!("--worker-api-key --{KEY}"),
        format!("--api-kye={KEY}"),
        format!("--api-kye {KEY}"),
        format!("--api-key=ä{KEY}"),
        format!("--api-key {KEY} --prot 1"),
        format!("--control-plane-api-keys id:name:admin:{KEY}"),
        format!("--oracle-password {KEY}"),
    ] {
        let error = error(&format!("{WORKER} {line}"));
        assert!(!error.contains("verysecret"), "{error}");
    }
    for text in [
        format!("api-key = {KEY}"),
        format!("api-key {KEY}"),
        format!("api-key = '{KEY}"),
        format!("api-key = ['{KEY}']"),
        format!("api-kye = '{KEY}'"),
        format!("api-key = '{KEY} '"),
    ] {
        let file = Config::new(&text);
        let error = error(&file.after(WORKER));
        assert!(!error.contains("verysecret"), "{error}");
    }
    let error = error_in(WORKER, &[&format!("PLIMSOLL_API_KEY={KEY} {KEY}")]);
    assert!(error.starts_with("PLIMSOLL_API_KEY: the key must be"), "{error}");
    assert!(error_in(WORKER, &["PLIMSOLL_API_KEY="]).starts_with("PLIMSOLL_API_KEY: the key"));
}
