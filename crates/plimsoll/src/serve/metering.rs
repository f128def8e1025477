//! The layers above the router, and the sinks of what they count.

use std::{thread, time::Duration};

use http::{HeaderName, HeaderValue};
use plimsoll::{
    AmendLayer, DrainLayer, Exporter, ExporterSink, MeterLayer, UsageLog, UsageLogSink,
    tenant_header,
};
use plimsoll_router::Router;
use tokio::{sync::oneshot, time};
use tower::{ServiceBuilder, util::option_layer};
use tower_http::cors::{AllowHeaders, AllowOrigin, Any, CorsLayer};

use super::{ServeError, connection::Serve};
use crate::flags::{Settings, StreamUsage, UsageLogPlace};

/// How long the usage log may take to be written to its end.
const CLOSING: Duration = Duration::from_secs(5);

/// What is laid over the router of each serving thread.
#[derive(Clone, Debug)]
pub(super) struct Metering {
    drain: DrainLayer,
    meter: MeterLayer<(ExporterSink, Option<UsageLogSink>)>,
    amend: AmendLayer,
    cors: Option<CorsLayer>,
}

/// Opens the usage log, where one is wanted.
pub(super) fn open(place: Option<&UsageLogPlace>) -> Result<Option<UsageLog>, ServeError> {
    let Some(place) = place else { return Ok(None) };
    let (log, path) = match place {
        UsageLogPlace::Stdout => (UsageLog::to_stdout(), "standard output".to_owned()),
        UsageLogPlace::File(path) => (UsageLog::to_file(path), path.display().to_string()),
    };
    log.map(Some).map_err(|source| ServeError::UsageLog { path, source })
}

/// Writes what is left of the usage log, off this thread: the disk may be slow, and a thread of the
/// runtime's would be waited for however slow it is.
pub(super) async fn close(log: UsageLog) {
    let (closed, is_closed) = oneshot::channel();
    thread::spawn(|| {
        log.close();
        // Nobody may be waiting any more.
        let _ = closed.send(());
    });
    if time::timeout(CLOSING, is_closed).await.is_err() {
        tracing::error!("the usage log was not written to its end: it takes too long");
    }
}

// === impl Metering ===

impl Metering {
    pub(super) fn new(settings: &Settings, exporter: &Exporter, log: Option<&UsageLog>) -> Self {
        let drain = settings.drain.map_or_else(DrainLayer::off, |drain| {
            DrainLayer::new(drain.max_time, drain.max_requests)
        });
        let mut meter = MeterLayer::new((exporter.sink(), log.map(UsageLog::sink)));
        // A header that carries keys was turned away with the flags.
        if let Some(Ok(tenant)) = settings.tenant_header.clone().map(tenant_header) {
            let keys = [settings.api_key.clone(), settings.worker_api_key.clone()];
            meter = meter.tenant(move |headers, extensions| {
                let is_key =
                    |name: &str| keys.iter().flatten().any(|key| name.contains(key.expose()));
                tenant(headers, extensions).filter(|name| !is_key(name))
            });
        }
        let amend = AmendLayer::new(settings.max_payload_size as u64)
            .enabled(settings.stream_usage == StreamUsage::Inject);
        Self { drain, meter, amend, cors: cors(&settings.cors_allowed_origins) }
    }

    /// What reads on for clients that left.
    pub(super) fn drain(&self) -> DrainLayer {
        self.drain.clone()
    }

    /// A router that is accounted for.
    pub(super) fn over(&self, router: Router) -> impl Serve + use<> {
        let Self { drain, meter, amend, cors } = self.clone();
        ServiceBuilder::new()
            .layer(drain)
            .layer(meter)
            .layer(amend)
            .layer(option_layer(cors))
            .service(router)
    }
}

/// Lets the pages of these origins call the router; `None` if there are none.
fn cors(origins: &[HeaderValue]) -> Option<CorsLayer> {
    let origin = match origins {
        [] => return None,
        origins if origins.iter().any(|origin| origin == "*") => AllowOrigin::any(),
        origins => AllowOrigin::list(origins.iter().cloned()),
    };
    let layer = CorsLayer::new()
        .allow_origin(origin)
        .allow_methods(Any)
        .allow_headers(AllowHeaders::mirror_request());
    Some(layer.expose_headers([HeaderName::from_static("x-request-id")]))
}
