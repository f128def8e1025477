//! The metrics pages of one worker, one for each of its nodes.

use futures_util::future;
use http::{Uri, uri::Authority};
use tokio::time::{self, Instant};

use crate::{
    Page, State,
    fetch::{Answer, Fetch, FetchError},
};

/// Where TensorRT-LLM has its page; at `/metrics` it has JSON.
const MOVED: &str = "/prometheus/metrics";

/// Where the pages of one worker are.
#[derive(Debug)]
pub(super) struct Pages(Vec<Place>);

#[derive(Debug)]
struct Place {
    uri: Uri,
    /// Where to look if what is at `uri` is JSON, and whether it was.
    moved: Option<Uri>,
    is_moved: bool,
}

// === impl Pages ===

impl Pages {
    /// `None` if one of the URLs is none.
    pub(super) fn new<'a>(urls: impl Iterator<Item = &'a str>) -> Option<Self> {
        urls.map(Place::new).collect::<Option<_>>().map(Self)
    }

    /// Reads all of them as one. One that is not there is no matter where another is (the second
    /// node of SGLang up to 0.4.9 has none), nor is one that fails: its ranks are missing.
    pub(super) async fn read(&mut self, fetch: &Fetch, deadline: Instant) -> Result<Page, State> {
        let readings = self.0.iter_mut().map(|place| place.read(fetch, deadline));
        let mut whole: Result<Page, State> = Err(State::Disabled);
        for (place, mut reading) in future::join_all(readings).await.into_iter().enumerate() {
            if let Ok(page) = &mut reading {
                page.counts.move_to(place);
            }
            match (&mut whole, reading) {
                (Ok(whole), Ok(page)) => whole.absorb(page),
                (Err(_), Ok(page)) => whole = Ok(page),
                (Err(State::Disabled), Err(state)) => whole = Err(state),
                (_, Err(_)) => {}
            }
        }
        whole
    }
}

// === impl Place ===

impl Place {
    fn new(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok().filter(|uri: &Uri| uri.host().is_some())?;
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = MOVED.parse().ok();
        let moved = Uri::from_parts(parts).ok().filter(|moved| *moved != uri);
        Some(Self { uri, moved, is_moved: false })
    }

    async fn read(&mut self, fetch: &Fetch, deadline: Instant) -> Result<Page, State> {
        let answer = time::timeout_at(deadline, self.ask(fetch)).await;
        let error = match answer {
            Err(_) => return Err(State::Timeout),
            Ok(Ok(Some(answer))) => {
                // Checking is faster than mending.
                return Ok(match std::str::from_utf8(&answer.body) {
                    Ok(text) => Page::read(text),
                    Err(_) => Page::read(&String::from_utf8_lossy(&answer.body)),
                });
            }
            Ok(Ok(None)) => return Err(State::Malformed),
            Ok(Err(error)) => error,
        };
        // A query may hold a key.
        let (host, path) = (self.uri.authority().map_or("", Authority::as_str), self.uri.path());
        tracing::debug!("the page at {host}{path} {error}");
        Err(error.state())
    }

    /// The page; `None` if it is no page but JSON.
    async fn ask(&mut self, fetch: &Fetch) -> Result<Option<Answer>, FetchError> {
        if !self.is_moved {
            let answer = fetch.get(&self.uri).await?;
            if !answer.is_json() {
                return Ok(is_text(&answer).then_some(answer));
            }
        }
        // What is not there may be back at its first place the next time.
        self.is_moved = false;
        let Some(moved) = &self.moved else { return Ok(None) };
        let answer = fetch.get(moved).await?;
        self.is_moved = !answer.is_json();
        Ok(self.is_moved.then_some(answer))
    }
}

/// It is not a web page, as proxies and user interfaces answer anything with.
fn is_text(answer: &Answer) -> bool {
    !answer.body.trim_ascii_start().starts_with(b"<")
}
