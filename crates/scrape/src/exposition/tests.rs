use proptest::prelude::*;

use super::{Malformed, lines, lines_of};

/// A sample's name, labels and value.
type Read = (String, Vec<(String, String)>, f64);

fn read(page: &str) -> Vec<Result<Read, Malformed>> {
    let samples = lines(page).map(|line| {
        line.map(|sample| {
            let labels = sample.labels.iter();
            let labels = labels.map(|label| (label.name.to_owned(), label.value().into_owned()));
            (sample.name.to_owned(), labels.collect(), sample.value)
        })
    });
    samples.collect()
}

fn one(line: &str) -> Read {
    match read(line).as_slice() {
        [Ok(sample)] => sample.clone(),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn lines_of_every_form() {
    for (line, name, labels, value) in [
        ("sglang:token_usage 0.25", "sglang:token_usage", vec![], 0.25),
        ("x{} 1", "x", vec![], 1.0),
        ("x 1.482752e+06", "x", vec![], 1_482_752.0),
        ("x{a=\"b\",} 9.4E12\r", "x", vec![("a", "b")], 9.4e12),
        ("\tx { a = \"1\" , b=\"2\" }\t3 1700000000000", "x", vec![("a", "1"), ("b", "2")], 3.0),
        ("x{a=\"1,2\",b=\"}{\"} -1", "x", vec![("a", "1,2"), ("b", "}{")], -1.0),
        (r#"x{m="a={b},c\"d\\e\n"} 0.5"#, "x", vec![("m", "a={b},c\"d\\e\n")], 0.5),
        (r#"x{m="C:\dir"} 1"#, "x", vec![("m", r"C:\dir")], 1.0),
        ("x{m=\"acme/tiny:v2 é\"} 1", "x", vec![("m", "acme/tiny:v2 é")], 1.0),
        (
            r#"x_bucket{le="1"} 3 # {trace_id="ab}c"} 0.7 1700000000.1"#,
            "x_bucket",
            vec![("le", "1")],
            3.0,
        ),
        (
            "{\"sglang.token_usage\",tp_rank=\"0\"} 0.3",
            "sglang.token_usage",
            vec![("tp_rank", "0")],
            0.3,
        ),
        ("{\"x\"} 1", "x", vec![], 1.0),
        ("x{\"a.b\"=\"c\"} 1", "x", vec![("a.b", "c")], 1.0),
        ("x +Inf", "x", vec![], f64::INFINITY),
    ] {
        let labels = labels.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        assert_eq!(one(line), (name.to_owned(), labels.collect(), value), "{line}");
    }
    assert!(one("x NaN").2.is_nan());
}

#[test]
fn one_bad_line_is_one_bad_line() {
    for bad in [
        "x",
        "x{",
        "x{a}",
        "x{a=b} 1",
        "x{a=\"b\" 1",
        "x{a=\"b\"c=\"d\"} 1",
        "x{} ",
        "x one",
        "9x 1",
        "x 1 2 3",
        "x 1 now",
        "x{=\"b\"} 1",
        "x-y 1",
        "x{a=\"b\\\"} 1",
        "{x} 1",
        "x 1#",
        "<html>",
    ] {
        let page = format!("# HELP a b\n\na 1\n{bad}\nb 2\n# EOF");
        let samples = read(&page);
        assert!(matches!(samples[..], [Ok(_), Err(Malformed), Ok(_)]), "{bad}: {samples:?}");
    }
}

#[test]
fn lines_that_are_not_wanted_are_not_looked_at() {
    let page = "other{ 1\nwanted{a=\"b\"} 2\n{\"other\" 3\n";
    let samples: Vec<_> = lines_of(page, |name| name == "wanted").collect();
    assert!(matches!(samples[..], [Ok(_), Err(Malformed)]), "{samples:?}");
}

#[test]
fn a_label_is_found_by_its_name() {
    let sample = lines("x{a=\"1\",b=\"2\"} 1").next().unwrap().unwrap();
    assert_eq!((sample.labels.get("b").as_deref(), sample.labels.get("c")), (Some("2"), None));
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        name in "[a-zA-Z_:][a-zA-Z0-9_:]{0,8}",
        labels in prop::collection::vec(("[a-z_]{1,4}", any::<String>()), 0..4),
        value in any::<f64>().prop_filter("a number", |value| !value.is_nan()),
    ) {
        let escape = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
        let list: Vec<_> =
            labels.iter().map(|(name, text)| format!("{name}=\"{}\"", escape(text))).collect();
        let page = format!("{name}{{{}}} {value}\n", list.join(","));
        prop_assert_eq!(one(&page), (name, labels, value));
    }

    #[test]
    fn no_page_is_too_odd(page in any::<String>(), junk in "[a-z:{}\"=,\\\\# 0-9\n]{0,60}") {
        for text in [&page, &junk] {
            for sample in lines(text).flatten() {
                sample.labels.iter().for_each(|label| drop(label.value()));
            }
        }
    }
}
