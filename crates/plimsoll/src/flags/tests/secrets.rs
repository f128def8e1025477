//! Keys never reach an output.

use std::any::TypeId;

use clap::CommandFactory;

use super::{
    super::{Flags, Secret, secret::without_user_info, syntax::SECRET},
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

/// A password in a URL is taken nowhere, and said nowhere.
#[test]
fn errors_do_not_show_passwords_in_urls() {
    const URL: &str = "http://me:verysecret@w:1";
    let in_file = Config::new(&format!("worker-urls = ['{URL}']"));
    let mut lines = vec![in_file.after("")];
    lines.extend([
        format!("--worker-urls {URL}"),
        "--worker-urls http://me:very@verysecret@w:1".to_owned(),
        "--worker-urls me:verysecret@w:1".to_owned(),
        format!("--worker-urls {URL}/v1"),
        format!("--pd-disaggregation --prefill {URL} 8998 --decode http://d"),
        format!("--pd-disaggregation --prefill http://p {URL} --decode http://d"),
        "--pd-disaggregation --prefill-dns me:verysecret@p:1 --decode http://d".to_owned(),
        format!("{WORKER} --worker-metrics {URL}"),
        format!("{WORKER} --worker-metrics {URL}={URL}"),
        format!("{WORKER} --worker-metrics http://w:1={URL}/metrics"),
        format!("{WORKER} --decode x {URL}"),
        format!("{WORKER} --port {URL}"),
        format!("{WORKER} --policy {URL}"),
        format!("{WORKER} --host {URL}"),
        format!("{WORKER} --cors-allowed-origins {URL}"),
        format!("{WORKER} --health-check-endpoint {URL}"),
        format!("{WORKER} {URL}"),
        format!("kv {URL}"),
        format!("kv h:1 --watch {URL}"),
        format!("sim --role {URL} --port 0"),
    ]);
    for line in lines {
        let error = error(&line);
        assert!(!error.contains("secret"), "{line}: {error}");
    }
}

#[test]
fn of_other_words_all_is_shown() {
    for text in ["http://a:1", "a b=c", "", "x-y, \"z\"", "\"/etc/certs@2/ca.pem\" holds no"] {
        assert_eq!(without_user_info(text), text);
    }
    let text = "invalid value 'http://a:b@c:1/d' for 'x', http://e@f";
    assert_eq!(without_user_info(text), "invalid value 'http://…@c:1/d' for 'x', http://…@f");
}
