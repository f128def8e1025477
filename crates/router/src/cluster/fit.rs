//! Who can serve what, where the workers differ.

use std::sync::Arc;

use plimsoll_wire::Role;

use crate::{Worker, workers::Model};

/// Tells which workers of a role can serve a request, where they serve different models or are
/// different engines. What a worker has not said yet is not held against it, unless others have.
pub(super) struct Fit<'a> {
    model: Option<&'a str>,
    /// Somebody of the role is known to serve the model.
    is_known: bool,
    /// Those one of which it must be able to work with; `None` if it works alone.
    partners: Option<Vec<&'a Arc<Worker>>>,
}

// === impl Fit ===

impl<'a> Fit<'a> {
    pub(super) fn new(
        live: &'a [Arc<Worker>],
        role: Role,
        model: Option<&'a str>,
        other: Option<&'a Arc<Worker>>,
    ) -> Self {
        let of = |role| live.iter().filter(move |worker| worker.role() == role);
        let is_known = model.is_some_and(|model| of(role).any(|worker| serves(worker, model)));
        let partners = match (role, other) {
            (_, Some(other)) => Some(vec![other]),
            (Role::Prefill, None) => {
                let decode = Self::new(live, Role::Decode, model, None);
                Some(of(Role::Decode).filter(|worker| decode.admits(worker)).collect())
            }
            (Role::Decode | Role::Plain, None) => None,
        };
        Self { model, is_known, partners }
    }

    pub(super) fn admits(&self, worker: &Worker) -> bool {
        let serves = self.model.is_none_or(|model| match self.is_known {
            true => serves(worker, model),
            false => worker.models().is_empty(),
        });
        let fits = |partners: &Vec<&Arc<Worker>>| {
            partners.iter().any(|partner| can_work_together(worker, partner))
        };
        serves && self.partners.as_ref().is_none_or(fits)
    }
}

/// Whether the workers differ in what they say they are.
pub(super) fn are_mixed(live: &[Arc<Worker>]) -> bool {
    let differ = |one: &Worker, other: &Worker| {
        let (own, others) = (one.models(), other.models());
        let known = !own.is_empty() && !others.is_empty();
        let within =
            |own: &[Model], others: &[Model]| own.iter().all(|model| has(others, &model.id));
        !same_engine(one, other) || (known && !(within(&own, &others) && within(&others, &own)))
    };
    let Some((first, rest)) = live.split_first() else { return false };
    // Those who have not said anything differ from nobody: another must be the measure.
    let is_told = |worker: &&Arc<Worker>| !worker.models().is_empty();
    let measure = live.iter().find(is_told).unwrap_or(first);
    rest.iter().chain([first]).any(|worker| differ(measure, worker))
}

fn can_work_together(one: &Worker, other: &Worker) -> bool {
    let (own, others) = (one.models(), other.models());
    let share_model =
        own.is_empty() || others.is_empty() || own.iter().any(|model| has(&others, &model.id));
    same_engine(one, other) && share_model
}

fn same_engine(one: &Worker, other: &Worker) -> bool {
    one.engine().zip(other.engine()).is_none_or(|(one, other)| one == other)
}

fn serves(worker: &Worker, model: &str) -> bool {
    has(&worker.models(), model)
}

fn has(models: &[Model], id: &str) -> bool {
    models.iter().any(|model| *model.id == *id)
}
