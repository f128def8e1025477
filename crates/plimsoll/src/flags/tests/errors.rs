//! One line: what is wrong, where, and what would be right.

use super::*;

#[test]
fn nothing_at_all_gets_short_help() {
    for line in ["", "launch"] {
        let error = command(line, &["HOME=/root"]).unwrap_err();
        assert!(matches!(error, UsageError::Nothing));
        assert!(error.to_string().contains("--worker-urls http://HOST:PORT"));
    }
}

#[test]
fn unknown_words() {
    for (line, wanted) in [
        ("--prot 1", "there is no flag --prot; the nearest is --port"),
        ("--worker-url=http://w", "there is no flag --worker-url; the nearest is --worker-urls"),
        ("--zzz", "there is no flag --zzz; see plimsoll --help"),
        ("-p 1", "there is no flag -p; see plimsoll --help"),
        ("--port 1 2", "\"2\" belongs to no flag after --port; see plimsoll --help"),
        ("lanch", "there is no command \"lanch\"; there are launch, demo, sim, kv and check"),
        ("kv --jsn", "there is no flag --jsn; the nearest is --json"),
        ("check --prot 1", "there is no flag --prot; the nearest is --port"),
        (
            "sim --port 1",
            "the following required arguments were not provided: --role <prefill|decode|plain>",
        ),
        (
            "sim --port 1 --role both",
            "invalid value 'both' for '--role <prefill|decode|plain>': 'both' is not one of \
             prefill, decode, plain",
        ),
        ("demo --prot 1", "there is no flag --prot; the nearest is --port"),
    ] {
        assert_eq!(error(line), wanted, "{line}");
    }
}

#[test]
fn values_out_of_range() {
    for (line, wanted) in [
        ("--port x", "'--port <PORT>': expected a whole number from 0 to 65535"),
        ("--port 65536", "from 0 to 65535"),
        ("--health-failure-threshold 0", "expected a whole number, at least 1"),
        ("--health-check-interval-secs 0", "from 1 to 31536000"),
        ("--scrape-interval-ms 99", "from 100 to 86400000"),
        ("--max-concurrent-requests -2", "at least -1"),
        ("--cache-threshold 1.1", "expected a number from 0 to 1"),
        ("--kv-admission-threshold NaN", "expected a number from 0 to 1"),
        ("--prometheus-duration-buckets inf", "expected a number, at least 0"),
        ("--prometheus-duration-buckets 1 1", "bounds must rise; 1 comes after 1"),
        ("--log-level loud", "[possible values: trace, debug, info, warn, error]"),
        ("--policy fastest", "[possible values: random, round_robin, power_of_two"),
        ("--health-check-endpoint ping", "expected one such as /health"),
        ("--request-id-headers x:y", "expected one such as x-request-id"),
        ("--port", "a value is required for '--port <PORT>'"),
        ("--disable-retries=1", "unexpected value"),
    ] {
        let error = error(&format!("{WORKER} {line}"));
        assert!(error.contains(wanted), "{line}: {error}");
    }
}

#[test]
fn variables_are_named() {
    for (variable, wanted) in [
        ("PLIMSOLL_PORT=x", "PLIMSOLL_PORT: invalid value 'x' for '--port <PORT>'"),
        ("PLIMSOLL_PD_DISAGGREGATION=maybe", "PLIMSOLL_PD_DISAGGREGATION: expected true or false"),
        ("PLIMSOLL_HOST=a b", "PLIMSOLL_HOST: \"a b\" is no address"),
        ("PLIMSOLL_CONFIG=/none.toml", "PLIMSOLL_CONFIG: cannot read \"/none.toml\": "),
    ] {
        let error = error_in(WORKER, &[variable]);
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn lines_of_the_file_are_named() {
    for (text, wanted) in [
        ("\nprot = 1", ":2: prot: there is no flag --prot; the nearest is --port"),
        ("port = 1\n\nworker_urls = []", ":3: worker_urls: there is no flag --worker_urls"),
        ("port = 'x'", ":1: port: invalid value 'x' for '--port <PORT>': expected a whole"),
        ("port = [1, 2]", ":1: port: expected one value, not a list"),
        ("port = true", ":1: port: expected a value, not true or false"),
        ("port = {}", ":1: port: expected a text, a number"),
        ("[health]\nx = 1", ":1: health: "),
        ("mini-lb = 'x'", ":1: mini-lb: expected true or false"),
        ("help = true", ":1: help: there is no flag --help"),
        ("\"a\\nb\" = 1", ":1: a\\nb: there is no flag --a; "),
        ("\"\" = 1", ":1: : there is no flag --; see"),
        ("config = 'x'", ":1: config: expected flags of the router"),
        ("port = 1\nport = 2", ":2: duplicate key"),
        ("port = 1\nhost = ", ":2: "),
        ("prefill = ['http://p']", ":1: prefill: needs --pd-disaggregation"),
    ] {
        let file = Config::new(text);
        let error = error(&file.after(WORKER));
        assert!(error.starts_with(&format!("{}{wanted}", file.path().display())), "{error}");
    }
    assert!(error(&format!("{WORKER} --config /none.toml")).starts_with("--config: cannot read"));
}

#[cfg(unix)]
#[test]
fn what_is_not_utf8_is_said_to_be_so() {
    use std::os::unix::ffi::OsStringExt;
    let bad = || OsString::from_vec(vec![b'-', 0xff]);
    let error = parse([bad()], []).unwrap_err().to_string();
    assert_eq!(error, "argument 1 is not valid UTF-8");
    let error = parse(["-V".into()], [("PLIMSOLL_HOST".into(), bad())]);
    assert!(matches!(error, Ok(Command::Print(_))));
    let error = parse(["--port=1".into()], [("PLIMSOLL_HOST".into(), bad())]).unwrap_err();
    assert_eq!(error.to_string(), "PLIMSOLL_HOST is not valid UTF-8");
}
