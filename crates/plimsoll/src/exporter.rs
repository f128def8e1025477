use std::{collections::HashMap, fmt, sync::Arc};

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use plimsoll_meter::{
    Endpoint, GenAiSink, MeterLayer, MetricsSink, PeekLayer, Record, Role, Sink, SmgSink,
    metrics::{FAMILIES, GENAI_FAMILIES, Kind, MAX_MODELS, SMG_FAMILIES},
};
use tower_layer::Stack;

/// A recorder, the sink that writes to it, and the page that shows it.
///
/// Nothing is global: each exporter has series of its own. Cloning gives another handle on the same
/// ones.
///
/// Histogram samples pile up until a page is rendered or [`upkeep`](Self::upkeep) is called: a
/// service that may go unscraped calls it every few seconds.
#[derive(Clone)]
pub struct Exporter {
    sink: ExporterSink,
    handle: PrometheusHandle,
    sources: Arc<[Arc<dyn PageSource>]>,
}

/// Makes an [`Exporter`] that differs from the default.
pub struct ExporterBuilder {
    max_models: usize,
    max_tenants: Option<usize>,
    genai: bool,
    smg: bool,
    policies: Option<Vec<(Role, &'static str)>>,
    buckets: HashMap<String, Vec<f64>>,
    sources: Vec<Arc<dyn PageSource>>,
}

/// Records to an [`Exporter`].
#[derive(Clone, Debug)]
pub struct ExporterSink(Arc<Sinks>);

type Sinks = (MetricsSink, (Option<GenAiSink>, Option<SmgSink>));

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
        ExporterBuilder::new()
    }

    /// The layers that record to this exporter: the meter, and below it a look at what requests ask
    /// for, so that errors are told apart by model too. For a meter with settings of its own, or for
    /// a service that takes no other request body than its own, make one with
    /// `MeterLayer::new(exporter.sink())`.
    pub fn layer(&self) -> Stack<PeekLayer, MeterLayer<ExporterSink>> {
        Stack::new(PeekLayer::new(), MeterLayer::new(self.sink()))
    }

    /// The sink alone, to be paired with others.
    pub fn sink(&self) -> ExporterSink {
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
    fn new() -> Self {
        Self {
            max_models: MAX_MODELS,
            max_tenants: None,
            genai: false,
            smg: false,
            policies: None,
            buckets: HashMap::new(),
            sources: Vec::new(),
        }
    }

    /// How many models that no worker is known to serve get series of their own ([`MAX_MODELS`]).
    #[must_use]
    pub fn max_models(self, max_models: usize) -> Self {
        Self { max_models, ..self }
    }

    /// Counts tokens by tenant as well, so many of them told apart; see [`MeterLayer::tenant`] for
    /// who they are.
    #[must_use]
    pub fn tenants(self, max_tenants: usize) -> Self {
        Self { max_tenants: Some(max_tenants), ..self }
    }

    /// Adds the families of [`GenAiSink`].
    #[must_use]
    pub fn genai(self, genai: bool) -> Self {
        Self { genai, ..self }
    }

    /// Adds the families of [`SmgSink`].
    #[must_use]
    pub fn smg(self, smg: bool) -> Self {
        Self { smg, ..self }
    }

    /// The roles that a request needs, and the policy by which a worker of each is chosen, for
    /// [`smg`](Self::smg) (plain workers, `round_robin`).
    #[must_use]
    pub fn policies(self, policies: Vec<(Role, &'static str)>) -> Self {
        Self { policies: Some(policies), ..self }
    }

    /// The upper bounds of the buckets of one histogram, by its name without `plimsoll_`
    /// (`request_duration_seconds`), in its unit and rising. Those of `inter_chunk_seconds` are
    /// fixed: it is counted up in the request.
    #[must_use]
    pub fn buckets(mut self, name: impl Into<String>, bounds: Vec<f64>) -> Self {
        self.buckets.insert(name.into(), bounds);
        self
    }

    /// Adds metrics that are written when the page is.
    #[must_use]
    pub fn source(mut self, source: Arc<dyn PageSource>) -> Self {
        self.sources.push(source);
        self
    }

    /// Makes the exporter.
    pub fn build(self) -> Exporter {
        let own = FAMILIES.iter().map(|family| (format!("{PREFIX}_{}", family.name), family));
        let genai = GENAI_FAMILIES.iter().filter(|_| self.genai);
        let others = genai.chain(SMG_FAMILIES.iter().filter(|_| self.smg));
        let others = others.map(|family| (family.name.to_owned(), family));
        let mut builder = PrometheusBuilder::new();
        for (name, family) in own.chain(others) {
            let Kind::Histogram(bounds) = family.kind else { continue };
            let fixed = family.name == "inter_chunk_seconds";
            let given = self.buckets.get(family.name).filter(|own| !(fixed || own.is_empty()));
            builder = builder
                .set_buckets_for_metric(Matcher::Full(name), given.map_or(bounds, Vec::as_slice))
                .expect("only an empty list of bounds is refused");
        }
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        let recorder = Arc::new(recorder);
        let mut metrics =
            MetricsSink::builder(recorder.clone()).prefix(PREFIX).max_models(self.max_models);
        if let Some(max_tenants) = self.max_tenants {
            metrics = metrics.tenants(max_tenants);
        }
        let genai = GenAiSink::builder(recorder.clone()).max_models(self.max_models);
        let genai = self.genai.then(|| genai.build());
        let mut smg = SmgSink::builder(recorder).max_models(self.max_models);
        if let Some(policies) = self.policies {
            smg = smg.policies(policies);
        }
        let smg = self.smg.then(|| smg.build());
        let sink = ExporterSink(Arc::new((metrics.build(), (genai, smg))));
        Exporter { sink, handle, sources: self.sources.into() }
    }
}

// === impl ExporterSink ===

impl Sink for ExporterSink {
    fn begin(&self, endpoint: Endpoint) {
        self.0.begin(endpoint);
    }

    fn end(&self, endpoint: Endpoint) {
        self.0.end(endpoint);
    }

    fn record(&self, record: &Record) {
        self.0.record(record);
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
        f.debug_struct("ExporterBuilder").field("genai", &self.genai).finish_non_exhaustive()
    }
}
