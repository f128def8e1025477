//! Running the sequences of a request and writing what they give.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;

use super::{
    Ask,
    problem::{Problem, Shape},
};
use crate::{
    clock,
    join::join_all,
    sequence::Sequence,
    server::{
        body::{Outlet, SimBody},
        reply::{self, Reply},
    },
    state::Engine,
    totals::OpenRequest,
};

/// The event that ends every stream.
pub(super) const DONE: &str = "data: [DONE]\n\n";

/// What the writers of an answer need to know of the request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) engine: Arc<Engine>,
    pub(super) ask: Ask,
    /// Seconds since 1970.
    pub(super) created: u64,
}

/// How an API writes its answers.
pub(super) trait Dialect: Sync {
    /// The whole answer as JSON.
    fn whole(&self, answer: &Answer, sequences: &[Sequence]) -> Vec<u8>;

    /// The event before a sequence's first, if any.
    fn opening(&self, _: &Answer, _index: usize, _: &Sequence) -> Option<Bytes> {
        None
    }

    /// The event for a new piece of a sequence.
    fn piece(&self, answer: &Answer, index: usize, sequence: &Sequence, text: &str) -> Bytes;

    /// The event that tells the end of a sequence, sent after all have ended, if any.
    fn closing(&self, _: &Answer, _index: usize, _: &[Sequence]) -> Option<Bytes> {
        None
    }

    /// The event that tells usage, sent if asked for.
    fn usage(&self, answer: &Answer, sequences: &[Sequence]) -> Option<Bytes>;

    /// How it tells errors.
    fn shape(&self) -> Shape;

    /// Whether a failed stream still tells its usage.
    fn tells_usage_of_failures(&self) -> bool {
        true
    }

    /// The answer instead of one that cannot be given.
    fn refuse(&self, problem: &Problem) -> Reply {
        reply::json(problem.status(), problem.json(self.shape()))
    }
}

/// Bytes of an event with a JSON payload.
pub(super) fn event(payload: &impl Serialize) -> Bytes {
    let mut bytes = Vec::with_capacity(384);
    bytes.extend_from_slice(b"data: ");
    if let Err(error) = serde_json::to_writer(&mut bytes, payload) {
        tracing::error!(%error, "an event cannot be written");
    }
    bytes.extend_from_slice(b"\n\n");
    bytes.into()
}

/// Answers with one JSON document once all sequences have ended.
pub(super) async fn whole(
    engine: &Arc<Engine>,
    dialect: &'static dyn Dialect,
    ask: Ask,
    open: OpenRequest,
) -> Reply {
    let (answer, sequences) = begin(engine, ask);
    let ended = join_all(sequences.into_iter().map(|mut sequence| {
        alive(engine, async move {
            sequence.start().await?;
            while sequence.step().await.is_some() {}
            Ok(sequence)
        })
    }));
    match ended.await.into_iter().collect::<Result<Vec<_>, _>>() {
        Ok(sequences) => {
            open.finished();
            reply::json(StatusCode::OK, dialect.whole(&answer, &sequences))
        }
        Err(problem) => {
            open.failed();
            dialect.refuse(&problem)
        }
    }
}

/// Answers with events. The head goes out at once, so later failures are events too.
pub(super) fn stream(
    engine: &Arc<Engine>,
    dialect: &'static dyn Dialect,
    ask: Ask,
    open: OpenRequest,
) -> Reply {
    let (answer, sequences) = begin(engine, ask);
    reply::events(SimBody::events(move |outlet| async move {
        let ended = join_all(sequences.into_iter().enumerate().map(|(index, mut sequence)| {
            let (outlet, answer) = (&outlet, &answer);
            async move {
                let writing = one(outlet, dialect, answer, index, &mut sequence);
                let result = alive(&answer.engine, writing).await;
                (sequence, result)
            }
        }));
        let (sequences, results): (Vec<_>, Vec<_>) = ended.await.into_iter().unzip();
        let problem = results.into_iter().find_map(Result::err);
        if let Some(problem) = &problem {
            outlet.send(problem.event(dialect.shape())).await;
        } else {
            for index in 0..sequences.len() {
                if let Some(event) = dialect.closing(&answer, index, &sequences) {
                    outlet.send(event).await;
                }
            }
        }
        let tells = problem.is_none() || dialect.tells_usage_of_failures();
        if answer.ask.include_usage && tells {
            if let Some(event) = dialect.usage(&answer, &sequences) {
                outlet.send(event).await;
            }
        }
        outlet.send(DONE).await;
        match problem {
            Some(_) => open.failed(),
            None => open.finished(),
        }
    }))
}

async fn one(
    outlet: &Outlet,
    dialect: &dyn Dialect,
    answer: &Answer,
    index: usize,
    sequence: &mut Sequence,
) -> Result<(), Problem> {
    sequence.start().await?;
    if let Some(event) = dialect.opening(answer, index, sequence) {
        outlet.send(event).await;
    }
    if sequence.is_done() {
        sequence.step().await;
        outlet.send(dialect.piece(answer, index, sequence, "")).await;
    }
    while let Some(text) = sequence.step().await {
        outlet.send(dialect.piece(answer, index, sequence, text)).await;
    }
    Ok(())
}

/// Work that fails when the engine dies.
async fn alive<T>(
    engine: &Engine,
    work: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    tokio::select! {
        biased;
        result = work => result,
        () = engine.death() => Err(Problem::engine_dead()),
    }
}

fn begin(engine: &Arc<Engine>, mut ask: Ask) -> (Answer, Vec<Sequence>) {
    let tasks = std::mem::take(&mut ask.tasks);
    let sequences = tasks.into_iter().map(|task| Sequence::new(Arc::clone(engine), task));
    let sequences = sequences.collect();
    let answer = Answer { engine: Arc::clone(engine), ask, created: clock::unix_seconds() };
    (answer, sequences)
}
