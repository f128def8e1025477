//! Flags of the SGLang router that are known and turned away, each with what to do instead.

const CONTROL: &str = "not supported: guard the admin routes by --api-key";
const HISTORY: &str = "not supported: keep conversations in the client, or in a service in front";
const IGW: &str = "not supported: run one plimsoll for each group of models";
#[cfg(not(feature = "kubernetes"))]
const KUBERNETES: &str = "needs the cargo feature `kubernetes`, which this build lacks: find the \
     workers by headless services with --prefill-dns and --decode-dns, or name them by their URLs";
const MCP: &str = "not supported: run tools in the client, or in a service in front";
const POLICY: &str = "belongs to the policies manual and bucket, which are not supported: leave it \
     out, and choose another policy";
const RANKS: &str = "not built yet: leave it out; the engines spread load over their ranks";
#[cfg(not(feature = "tls"))]
const TLS: &str = "needs the cargo feature `tls`, which this build lacks: let a proxy hold the \
     certificates, and name workers by http:// URLs";
const TRACE: &str = "not built yet: leave it out; `traceparent` reaches the engines anyway";

/// Names without dashes, by spaces, and what to do instead.
const REFUSED: &[(&str, &str)] = &[
    ("mcp-config-path", MCP),
    ("enable-igw", IGW),
    ("assignment-mode max-idle-secs bucket-adjust-interval-secs", POLICY),
    ("dp-aware", RANKS),
    ("enable-trace otlp-traces-endpoint", TRACE),
    #[cfg(not(feature = "kubernetes"))]
    ("service-discovery service-discovery-port service-discovery-namespace", KUBERNETES),
    #[cfg(not(feature = "kubernetes"))]
    ("selector prefill-selector decode-selector", KUBERNETES),
    #[cfg(not(feature = "tls"))]
    ("tls-cert-path tls-key-path ca-cert-paths client-cert-path client-key-path", TLS),
];

/// Beginnings of names, and what to do instead: of these there are more in each version.
const REFUSED_KINDS: &[(&str, &str)] = &[
    ("oracle-", HISTORY),
    ("postgres-", HISTORY),
    ("redis-", HISTORY),
    ("jwt-", CONTROL),
    ("control-plane-", CONTROL),
];

/// What to do instead of using the flag `name` (without dashes), if it is one that is turned away.
pub(crate) fn refused(name: &str) -> Option<&'static str> {
    let one = REFUSED.iter().find(|(names, _)| names.split(' ').any(|one| one == name));
    let kind = || REFUSED_KINDS.iter().find(|(beginning, _)| name.starts_with(beginning));
    one.or_else(kind).map(|(_, instead)| *instead)
}
