//! What a worker is: asked seldom, and beside the readings, because an answer may take long.

use std::{sync::Arc, time::Duration};

use futures_util::future::join3;
use serde::Deserialize;
use tokio::{
    task::JoinSet,
    time::{self, Instant},
};

use super::{backoff::Backoff, sglang::ServerInfo, worker::endpoint};
use crate::{Facts, fetch::Fetch, page::MAX_NAME};

/// How long an engine may take to answer: SGLang asks its scheduler.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a worker says of itself.
#[derive(Debug, Default)]
pub(super) struct About {
    /// The first model that it serves.
    pub(super) model: Option<Arc<str>>,
    /// The engine's version, where it is no SGLang.
    pub(super) version: Option<String>,
    /// SGLang's own account.
    pub(super) info: Option<ServerInfo>,
    asking: JoinSet<Learned>,
    /// When the model, and when all else is asked next.
    model_pause: Backoff,
    pause: Backoff,
}

#[derive(Debug)]
struct Learned {
    question: Question,
    model: Option<Arc<str>>,
    version: Option<String>,
    info: Option<ServerInfo>,
}

/// What is not known yet.
#[derive(Clone, Debug)]
struct Question {
    worker: Arc<str>,
    model: bool,
    version: bool,
    info: bool,
}

#[derive(Deserialize)]
struct Models {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

// === impl About ===

impl About {
    /// The worker may be another one when it comes back.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// What the data ranks are.
    pub(super) fn facts(&self) -> Facts {
        self.info.as_ref().map(ServerInfo::facts).unwrap_or_default()
    }

    /// Asks what is due, of an engine that may be known by its page, and takes up what was answered.
    /// The first time it waits for the answer, until `deadline`.
    pub(super) async fn refresh(
        &mut self,
        worker: &Arc<str>,
        engine: Option<&'static str>,
        fetch: &Fetch,
        deadline: Instant,
    ) {
        while let Some(Ok(learned)) = self.asking.try_join_next() {
            self.learn(learned);
        }
        let due = self.pause.is_over();
        let question = Question {
            worker: Arc::clone(worker),
            model: self.model.is_none() && self.model_pause.is_over(),
            version: due && engine == Some("vllm") && self.version.is_none(),
            info: due && matches!(engine, None | Some("sglang")),
        };
        if !self.asking.is_empty() || !(question.model || question.version || question.info) {
            return;
        }
        let first = self.model.is_none() && self.info.is_none();
        self.asking.spawn(question.ask(fetch.clone()));
        if first {
            if let Ok(Some(Ok(learned))) = time::timeout_at(deadline, self.asking.join_next()).await
            {
                self.learn(learned);
            }
        }
    }

    fn learn(&mut self, learned: Learned) {
        let Learned { question, model, version, info } = learned;
        if question.model && model.is_none() {
            self.model_pause.failed();
        }
        if version.is_some() || info.is_some() {
            self.pause.rest();
        } else if question.version || question.info {
            self.pause.failed();
        }
        self.model = self.model.take().or(model);
        self.version = self.version.take().or(version);
        self.info = info.or(self.info.take());
    }
}

// === impl Question ===

impl Question {
    async fn ask(self, fetch: Fetch) -> Learned {
        // Each by itself: one that hangs keeps none of the others.
        let (model, version, info) = join3(
            within(PATIENCE, self.model, self.first_model(&fetch)),
            within(PATIENCE, self.version, self.own_version(&fetch)),
            within(PATIENCE, self.info, self.server_info(&fetch)),
        )
        .await;
        Learned { question: self, model, version, info }
    }

    async fn own_version(&self, fetch: &Fetch) -> Option<String> {
        let answer: Version = self.json(fetch, "/version").await?;
        Some(answer.version)
    }

    async fn first_model(&self, fetch: &Fetch) -> Option<Arc<str>> {
        let models: Models = self.json(fetch, "/v1/models").await?;
        let first = models.data.into_iter().next()?;
        (first.id.len() <= MAX_NAME).then(|| first.id.into())
    }

    async fn server_info(&self, fetch: &Fetch) -> Option<ServerInfo> {
        for path in ["/get_server_info", "/server_info"] {
            let body = self.body(fetch, path).await;
            if let Some(info) = body.and_then(|body| ServerInfo::read(&body)) {
                return Some(info);
            }
        }
        None
    }

    async fn json<T: serde::de::DeserializeOwned>(&self, fetch: &Fetch, path: &str) -> Option<T> {
        serde_json::from_slice(&self.body(fetch, path).await?).ok()
    }

    async fn body(&self, fetch: &Fetch, path: &str) -> Option<bytes::Bytes> {
        let answer = fetch.get(&endpoint(&self.worker, path)?).await;
        answer.map(|answer| answer.body).ok()
    }
}

/// An answer that is wanted, if it comes in time.
async fn within<T>(
    patience: Duration,
    wanted: bool,
    answer: impl Future<Output = Option<T>>,
) -> Option<T> {
    if !wanted {
        return None;
    }
    time::timeout(patience, answer).await.ok().flatten()
}
