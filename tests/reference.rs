//! `docs/metrics.md` is what the program says of its metrics.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
};

use plimsoll_scrape::FAMILIES;

use crate::{
    page::{samples, used_with},
    support::{Page, bounded},
};

const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/metrics.md");

const HEAD: &str = "# Metrics

Every family of `GET /metrics` on port 29001, as the program describes it: times are seconds, ratios go
from 0 to 1, `_total` only rises. A value that is not known has no line. This page is made by
`PLIMSOLL_WRITE_REFERENCE=1 cargo test -p e2e reference`.
";

/// What a family is: type, labels, meaning.
type Row = (String, Vec<String>, String);

fn rows(page: &Page) -> BTreeMap<String, Row> {
    let text = page.to_string();
    let helps: BTreeMap<_, _> =
        text.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split_once(' ')).collect();
    let described = page.types.iter().map(|(name, kind)| {
        let labels: BTreeSet<_> =
            samples(page, name).flat_map(|sample| sample.labels.keys().cloned()).collect();
        let labels = labels.into_iter().filter(|label| label != "le").collect();
        (name.clone(), (kind.clone(), labels, helps[name.as_str()].to_owned()))
    });
    // Those of the engines' readings come from their own table: the page has only what is known.
    let readings = FAMILIES.iter().map(|family| {
        let labels = family.labels().iter().map(ToString::to_string).collect();
        (family.name.to_owned(), (family.kind.as_str().to_owned(), labels, family.help.to_owned()))
    });
    described.chain(readings).collect()
}

fn reference(rows: &BTreeMap<String, Row>) -> String {
    let mut text = HEAD.to_owned();
    for (title, prefix) in [
        ("plimsoll's own", "plimsoll_"),
        ("OpenTelemetry GenAI, with `--genai-metrics`", "gen_ai_"),
        ("Those of the SGLang router, unless `--no-smg-metrics`", "smg_"),
    ] {
        text += &format!("\n## {title}\n\n| name | type | labels | |\n|---|---|---|---|\n");
        for (name, (kind, labels, help)) in rows.iter().filter(|(name, _)| name.starts_with(prefix))
        {
            let (labels, help) = (labels.join(", "), help.replace('|', "\\|"));
            text += &format!("| `{name}` | {kind} | {labels} | {help} |\n");
        }
    }
    text
}

#[tokio::test]
async fn the_reference_is_what_the_page_says() {
    bounded(async {
        let flags = "--genai-metrics --tenant-header x-team --usage-log /dev/null";
        let (_router, page) = used_with(flags).await;
        let reference = reference(&rows(&page));
        if env::var_os("PLIMSOLL_WRITE_REFERENCE").is_some() {
            fs::write(REFERENCE, &reference).expect("docs/ is there");
        }
        let written = fs::read_to_string(REFERENCE).unwrap_or_default();
        for (line, wanted) in written.lines().zip(reference.lines()) {
            assert_eq!(line, wanted, "write it anew, as docs/metrics.md says");
        }
        assert_eq!(written.len(), reference.len());
    })
    .await;
}
