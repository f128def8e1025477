//! However the network cuts a stream, the same events and counts are read from it.

use std::sync::LazyLock;

use fuzz_checks::sse::read;
use plimsoll_wire::Endpoint;
use proptest::prelude::*;

use crate::support::streams;

/// A recorded stream: its name, its route and its bytes.
type Stream = (String, Endpoint, Vec<u8>);

static STREAMS: LazyLock<Vec<Stream>> = LazyLock::new(|| {
    let streams = streams().into_iter().map(|(folder, recorded)| {
        let endpoint = Endpoint::from_path(recorded.path).expect("a metered route");
        (format!("{folder}/{}", recorded.name), endpoint, recorded.body().to_vec())
    });
    streams.collect()
});

/// The data of a stream's events, found in the simplest way: these all end their lines by LF.
fn data_of(stream: &[u8]) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(stream);
    let events = text.split("\n\n").filter_map(|event| event.strip_prefix("data: "));
    events.map(|data| data.as_bytes().to_vec()).collect()
}

#[test]
fn whole_and_byte_by_byte() {
    assert!(STREAMS.len() >= 50, "{} streams", STREAMS.len());
    for (name, endpoint, stream) in &*STREAMS {
        let whole = read(*endpoint, std::iter::once(stream.as_slice()));
        if std::str::from_utf8(stream).is_ok() && !name.contains("killed") {
            assert_eq!(whole.data, data_of(stream), "{name}");
        }
        assert!(whole.data.len() > 1 && whole.data.len() == whole.facts.len(), "{name}");
        assert_eq!(read(*endpoint, stream.chunks(1)), whole, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_splits(
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let (name, endpoint, stream) = which.get(&STREAMS);
        let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        ends.push(stream.len());
        ends.sort_unstable();
        let mut from = 0;
        let pieces = ends.into_iter().map(|end| &stream[std::mem::replace(&mut from, end)..end]);
        let whole = read(*endpoint, std::iter::once(stream.as_slice()));
        prop_assert_eq!(read(*endpoint, pieces), whole, "{}", name);
    }
}
