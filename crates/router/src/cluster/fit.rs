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

    /// Somebody of the role serves the model, whether it fits otherwise or not.
    pub(super) fn is_model_known(&self) -> bool {
        self.is_known
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_wire::{Backend, Engine, Role};

    use super::{Fit, are_mixed};
    use crate::{RouterConfig, Worker, workers::Model};

    fn worker(url: &str, role: Role, models: &[&str], engine: Option<Engine>) -> Arc<Worker> {
        let backend = Backend { url: url.into(), role, bootstrap_port: None };
        let worker = Worker::new(backend, &RouterConfig::new(vec![]), &Arc::default()).unwrap();
        let data: Vec<_> = models.iter().map(|id| serde_json::json!({"id": id})).collect();
        let listing = serde_json::json!({"data": data}).to_string();
        worker.set_models(Model::list(listing.as_bytes()).unwrap());
        worker.set_engine(engine);
        Arc::new(worker)
    }

    fn plain(url: &str, models: &[&str]) -> Arc<Worker> {
        worker(url, Role::Plain, models, None)
    }

    #[test]
    fn workers_differ_only_by_what_they_have_said() {
        let (a, b) = (plain("http://a", &["m", "n"]), plain("http://b", &["n", "m"]));
        let (c, silent) = (plain("http://c", &["m"]), plain("http://s", &[]));
        let vllm = worker("http://v", Role::Plain, &["m", "n"], Some(Engine::Vllm));
        let sglang = worker("http://g", Role::Plain, &["m", "n"], Some(Engine::Sglang));
        for (live, want) in [
            (vec![], false),
            (vec![a.clone()], false),
            (vec![a.clone(), b], false),
            (vec![silent.clone(), a.clone()], false),
            (vec![silent, a.clone(), c], true),
            (vec![a, vllm.clone()], false),
            (vec![sglang, vllm], true),
        ] {
            assert_eq!(are_mixed(&live), want, "{live:?}");
        }
    }

    fn admitted(live: &[Arc<Worker>], role: Role, model: Option<&str>) -> Vec<String> {
        let fit = Fit::new(live, role, model, None);
        let of_role = live.iter().filter(|worker| worker.role() == role);
        of_role.filter(|worker| fit.admits(worker)).map(|worker| worker.url().to_string()).collect()
    }

    #[test]
    fn a_model_goes_to_those_that_serve_it() {
        let live = [plain("http://a", &["m"]), plain("http://b", &["n"]), plain("http://s", &[])];
        assert_eq!(admitted(&live, Role::Plain, Some("m")), ["http://a"]);
        assert_eq!(admitted(&live, Role::Plain, Some("n")), ["http://b"]);
        assert_eq!(admitted(&live, Role::Plain, Some("x")), ["http://s"], "it may serve it");
        assert_eq!(admitted(&live, Role::Plain, None).len(), 3);
        assert!(admitted(&live[..2], Role::Plain, Some("x")).is_empty());
    }

    /// Not with what another engine, or another model, has read.
    #[test]
    fn the_two_of_a_pair_are_of_one_kind() {
        let (sglang, vllm) = (Some(Engine::Sglang), Some(Engine::Vllm));
        let live = [
            worker("http://p1", Role::Prefill, &["m"], sglang),
            worker("http://p2", Role::Prefill, &["n"], vllm),
            worker("http://p3", Role::Prefill, &["o"], vllm),
            worker("http://d1", Role::Decode, &["m"], sglang),
            worker("http://d2", Role::Decode, &["n"], vllm),
        ];
        let no_partner = admitted(&live, Role::Prefill, None);
        assert_eq!(no_partner, ["http://p1", "http://p2"]);
        assert_eq!(admitted(&live, Role::Prefill, Some("n")), ["http://p2"]);
        let fit = Fit::new(&live, Role::Decode, None, Some(&live[1]));
        assert_eq!([&live[3], &live[4]].map(|decode| fit.admits(decode)), [false, true]);
    }
}
