//! Flags about workers that are found as pods of Kubernetes.

use clap::Args;

use super::within;

/// Which pods are workers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workers in Kubernetes")]
pub(crate) struct Discovery {
    /// Find engines as pods, by their labels
    #[arg(long)]
    pub(crate) service_discovery: bool,

    /// Labels of engines that answer whole requests, without --pd-disaggregation; all must match
    #[arg(long, num_args = 1.., value_name = "KEY=VALUE")]
    pub(crate) selector: Vec<String>,

    /// Labels of prefill engines; their annotation sglang.ai/bootstrap-port has that port
    #[arg(long, num_args = 1.., value_name = "KEY=VALUE")]
    pub(crate) prefill_selector: Vec<String>,

    /// Labels of decode engines
    #[arg(long, num_args = 1.., value_name = "KEY=VALUE")]
    pub(crate) decode_selector: Vec<String>,

    /// Port of the engine in each pod
    #[arg(long, value_name = "PORT", default_value_t = 80, value_parser = within(1..=u16::MAX))]
    pub(crate) service_discovery_port: u16,

    /// Namespace of the pods [default: all of them]
    #[arg(long, value_name = "NAME")]
    pub(crate) service_discovery_namespace: Option<String>,
}
