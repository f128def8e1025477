//! Reads metrics pages, and writes each sample as a line of JSON: the file, the name, the labels, the
//! value. `samples FILE...`

use std::{collections::BTreeMap, env, fs, io};

use plimsoll_scrape::exposition::lines;
use serde_json::json;

fn main() -> io::Result<()> {
    for file in env::args().skip(1) {
        let page = fs::read_to_string(&file)
            .map_err(|error| io::Error::new(error.kind(), format!("{file}: {error}")))?;
        for sample in lines(&page).flatten() {
            let labels: BTreeMap<_, _> =
                sample.labels.iter().map(|label| (label.name, label.value())).collect();
            // JSON has no infinities.
            println!("{}", json!([file, sample.name, labels, format!("{:?}", sample.value)]));
        }
    }
    Ok(())
}
