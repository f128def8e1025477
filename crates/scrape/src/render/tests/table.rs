//! The table of `plimsoll kv`.

use super::*;

#[test]
fn a_pair_of_which_one_says_nothing() {
    let want = r#"
WORKER      ROLE     MODEL        USED   CAPACITY    FULL              EVICTABLE  RUNNING  QUEUED  STATE
http://p:1  prefill  -               -          -       -                      -        -       -  disabled
    its metrics are off: start the engine with --enable-metrics (llama.cpp: --metrics)
http://d:1  decode   a"b\c\né  968,064  2,581,504  37.5 %  ████░░░░░░    645,376        3       3  ok
"#;
    assert_eq!(format!("\n{}", report().table()), want);
}

#[test]
fn several_workers_of_one_model_have_a_total() {
    let now = Instant::now() + Duration::from_secs(1);
    let gone = WorkerReading {
        model: Some(ODD.into()),
        state: State::Timeout,
        ..worker("http://e:1", Role::Decode)
    };
    let workers = vec![Arc::new(full(now)), Arc::new(gone)];
    let table = Snapshot { workers }.report(now).table().to_string();
    let total = table.lines().last().unwrap();
    assert!(total.starts_with("total of 2  decode  a\"b\\c\\né  968,064  2,581,504  37.5 %"));
    assert!(total.ends_with("  2 of 3 ranks"), "{total}");
}

#[test]
fn colours_are_by_ratio_and_outside_the_columns() {
    let mut report = report();
    let plain = report.table().to_string();
    assert!(!plain.contains('\x1b'));
    for (ratio, colour) in [(0.699, "\x1b[32m"), (0.7, "\x1b[33m"), (0.9, "\x1b[31m")] {
        report.workers[1].load.usage_ratio = Some(ratio);
        let table = report.table().coloured(true).to_string();
        let full = format!("{colour}{:.1} %\x1b[0m  {colour}", ratio * 100.0);
        assert!(table.contains(&full), "{table}");
        assert!(table.contains("\x1b[33mdisabled\x1b[0m\n    \x1b[33mits metrics are off"));
        let mut without = table;
        for code in ["\x1b[0m", "\x1b[31m", "\x1b[32m", "\x1b[33m"] {
            without = without.replace(code, "");
        }
        assert_eq!(without, report.table().to_string());
    }
}

#[test]
fn a_bar_is_full_only_at_the_end() {
    let mut report = report();
    for (ratio, bar) in [(0.0, "░░░░░░░░░░"), (0.5, "█████░░░░░"), (1.0, "██████████")]
    {
        report.workers[1].load.usage_ratio = Some(ratio);
        assert!(report.table().to_string().contains(bar), "{ratio}");
    }
}
