//! Workers that are found as pods of Kubernetes: which labels they have, and where they listen.

use plimsoll_wire::Role;

/// Which pods are workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pods {
    /// The namespace they are in; `None` for any.
    pub(crate) namespace: Option<String>,
    /// The port of the engine in each of them, at least 1.
    pub(crate) port: u16,
    /// Each role, and the labels of its pods, as the API server takes them (`KEY=VALUE,...`). At
    /// least one; where a pod has the labels of two, the first counts.
    pub(crate) selectors: Vec<(Role, String)>,
}

/// Why flags do not say which pods are workers.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PodsError {
    /// No labels at all.
    #[error(
        "needs --selector KEY=VALUE, or --pd-disaggregation with --prefill-selector and \
         --decode-selector"
    )]
    NoSelector,
    /// Labels of a role of pairs, without the mode.
    #[error("needs --pd-disaggregation; for engines that do both, use --selector")]
    NeedsPd,
    /// Labels of plain workers in the mode for pairs.
    #[error("does not go with --pd-disaggregation; use --prefill-selector and --decode-selector")]
    PlainInPd,
    /// Not a label.
    #[error("{0:?} is no label; expected KEY=VALUE, several of them by spaces")]
    Label(String),
    /// Not a namespace.
    #[error("{0:?} is no namespace; expected a name such as default")]
    Namespace(String),
}

// === impl Pods ===

impl Pods {
    /// The roles whose workers are found so.
    pub(super) fn roles(&self) -> Vec<Role> {
        self.selectors.iter().map(|(role, _)| *role).collect()
    }
}

/// Reads labels that a pod must have, all of them.
pub(super) fn selector(labels: &[String]) -> Result<String, PodsError> {
    let all = labels.iter().flat_map(|labels| labels.split_whitespace());
    match all.clone().find(|label| !is_label(label)) {
        Some(wrong) => Err(PodsError::Label(wrong.to_owned())),
        None => Ok(all.collect::<Vec<_>>().join(",")),
    }
}

/// Reads the name of a namespace.
pub(super) fn namespace(name: &str) -> Result<String, PodsError> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(PodsError::Namespace(name.to_owned()));
    }
    Ok(name.to_owned())
}

/// Whether a text says that one label has one value. What else the API server takes as a selector
/// is not what the flag means.
fn is_label(text: &str) -> bool {
    let fits = |part: &str, more: &str| {
        part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c) || more.contains(c))
    };
    text.split_once('=')
        .is_some_and(|(key, value)| !key.is_empty() && fits(key, "/") && fits(value, ""))
}
