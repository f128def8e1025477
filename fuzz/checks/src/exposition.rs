//! Whatever a page holds: it is read without a panic, no reading of it is below 0 or not a number, and
//! no ratio above 1.

use plimsoll_scrape::{Facts, Page, Reading, exposition::lines};

/// # Panics
///
/// If it does not hold.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut samples = 0;
    for sample in lines(&text) {
        samples += 1;
        let Ok(sample) = sample else { continue };
        for label in sample.labels.iter() {
            assert!(label.value().len() <= label.raw.len());
            assert!(sample.labels.get(label.name).is_some());
        }
    }
    assert!(samples <= text.lines().count());

    let page = Page::read(&text);
    let ranks = bytes.first().map(|&byte| u32::from(byte % 9));
    for facts in [
        Facts::default(),
        Facts { data_ranks: ranks, rank_capacity: None },
        Facts { data_ranks: ranks, rank_capacity: Some(4096.0) },
    ] {
        is_sound(&Reading::of(&page, &facts));
    }
    let mut both = page.clone();
    both.absorb(page);
    is_sound(&Reading::of(&both, &Facts::default()));
}

fn is_sound(reading: &Reading) {
    let pools = reading.pools.iter().flat_map(|pool| {
        let counts = [pool.capacity, pool.used, pool.available, pool.evictable];
        let ratios = [pool.usage_ratio, pool.swa_ratio, pool.mamba_ratio, pool.usage_ratio_max];
        assert!(ratios.into_iter().flatten().all(|ratio| ratio <= 1.0), "{reading:?}");
        counts.into_iter().chain(ratios)
    });
    let sums = [
        reading.running,
        reading.host_capacity,
        reading.host_used,
        reading.prealloc_ratio,
        reading.generation_rate,
        reading.capacity(),
        reading.used(),
        reading.usage_ratio(),
        reading.usage_ratio_max(),
    ];
    let ratios = [reading.prealloc_ratio, reading.usage_ratio(), reading.usage_ratio_max()];
    assert!(ratios.into_iter().flatten().all(|ratio| ratio <= 1.0), "{reading:?}");
    let mut all = pools.chain(sums).chain(reading.queued).flatten();
    assert!(all.all(|value| value >= 0.0), "{reading:?}");
}
