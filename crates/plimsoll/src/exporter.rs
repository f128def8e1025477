use std::{fmt, sync::Arc};

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use plimsoll_meter::{
    MeterLayer, MetricsSink,
    metrics::{FAMILIES, Family, Kind},
};

/// A recorder, the sink that writes to it, and the page that shows it.
///
/// Nothing is global: each exporter has series of its own. Cloning gives another handle on the same
/// ones.
///
/// Histogram samples pile up until a page is rendered or [`upkeep`](Self::upkeep) is called: a
/// service that may go unscraped calls it every few seconds.
#[derive(Clone)]
pub struct Exporter {
    sink: Arc<MetricsSink>,
    handle: PrometheusHandle,
    sources: Arc<[Arc<dyn PageSource>]>,
}

/// Makes an [`Exporter`] that differs from the default.
#[derive(Default)]
pub struct ExporterBuilder {
    max_models: Option<usize>,
    duration_buckets: Option<Vec<f64>>,
    sources: Vec<Arc<dyn PageSource>>,
}

/// Something that writes metrics of its own at the end of the page: whatever follows the life of a
/// worker, which a recorder could never forget.
pub trait PageSource: Send + Sync {
    /// Writes whole families in the text format, with a blank line after each.
    fn write(&self, page: &mut String);
}

/// The sink's prefix, without its underscore.
const PREFIX: &str = "plimsoll";

// === impl Exporter ===

impl Exporter {
    /// An exporter as most want it.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// An exporter with other settings than the default.
    pub fn builder() -> ExporterBuilder {
        ExporterBuilder::default()
    }

    /// The layer that records to this exporter.
    pub fn layer(&self) -> MeterLayer<Arc<MetricsSink>> {
        MeterLayer::new(self.sink())
    }

    /// The sink alone, to be paired with others.
    pub fn sink(&self) -> Arc<MetricsSink> {
        self.sink.clone()
    }

    /// The page in the Prometheus text format 0.0.4, families sorted by name.
    pub fn page(&self) -> String {
        let mut page = self.handle.render();
        for source in &*self.sources {
            source.write(&mut page);
        }
        sorted(&page)
    }

    /// Takes in the histogram samples that have piled up.
    pub fn upkeep(&self) {
        self.handle.run_upkeep();
    }
}

impl Default for Exporter {
    fn default() -> Self {
        Self::new()
    }
}

// === impl ExporterBuilder ===

impl ExporterBuilder {
    /// How many models that no worker is known to serve get series of their own (100).
    #[must_use]
    pub fn max_models(self, max_models: usize) -> Self {
        Self { max_models: Some(max_models), ..self }
    }

    /// The upper bounds, in seconds, of the buckets of `plimsoll_request_duration_seconds`.
    #[must_use]
    pub fn duration_buckets(self, bounds: Vec<f64>) -> Self {
        Self { duration_buckets: Some(bounds), ..self }
    }

    /// Adds metrics that are written when the page is.
    #[must_use]
    pub fn source(mut self, source: Arc<dyn PageSource>) -> Self {
        self.sources.push(source);
        self
    }

    /// Makes the exporter.
    pub fn build(self) -> Exporter {
        let mut builder = PrometheusBuilder::new();
        for family in FAMILIES {
            if let Some(bounds) = self.bounds(&family) {
                let name = Matcher::Full(format!("{PREFIX}_{}", family.name));
                builder = builder
                    .set_buckets_for_metric(name, bounds)
                    .expect("only an empty list of bounds is refused");
            }
        }
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        let mut sink = MetricsSink::builder(Arc::new(recorder)).prefix(PREFIX);
        if let Some(max_models) = self.max_models {
            sink = sink.max_models(max_models);
        }
        Exporter { sink: Arc::new(sink.build()), handle, sources: self.sources.into() }
    }

    fn bounds(&self, family: &Family) -> Option<&[f64]> {
        let Kind::Histogram(bounds) = family.kind else {
            return None;
        };
        let own = self.duration_buckets.as_deref().filter(|own| !own.is_empty());
        Some(own.filter(|_| family.name == "request_duration_seconds").unwrap_or(bounds))
    }
}

/// The recorder renders families, and the series of each, in the order of a hash map.
fn sorted(page: &str) -> String {
    let mut families: Vec<_> = page.split("\n\n").map(str::trim_ascii).collect();
    families.retain(|family| !family.is_empty());
    families.sort_unstable_by_key(|family| name(family));
    let mut sorted = String::with_capacity(page.len());
    for family in families {
        let (comments, lines): (Vec<_>, Vec<_>) =
            family.split_inclusive('\n').partition(|line| line.starts_with('#'));
        let mut series: Vec<_> = lines.split_inclusive(|line| ends_series(line)).collect();
        series.sort_unstable();
        for line in comments.iter().chain(series.iter().copied().flatten()) {
            sorted.push_str(line.trim_ascii_end());
            sorted.push('\n');
        }
    }
    sorted
}

/// The name in a family's `# HELP` or `# TYPE` line.
fn name(family: &str) -> &str {
    family.split(' ').nth(2).unwrap_or_default()
}

/// A histogram's series is several lines, of which `_count` is the last; any other is one line.
fn ends_series(line: &str) -> bool {
    let name = line.split(['{', ' ']).next().unwrap_or_default();
    !(name.ends_with("_bucket") || name.ends_with("_sum"))
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").finish_non_exhaustive()
    }
}

impl fmt::Debug for ExporterBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExporterBuilder").finish_non_exhaustive()
    }
}
