//! Replies against page.

use std::{fmt, time::Duration};

use tokio::time::{Instant, sleep};

use super::{
    client::{Client, LOOK_AGAIN},
    error::RunError,
    load::Replies,
    page::PageSums,
};

/// How long the page may take to agree: a record waits at most 2 s for prefill's reply.
const SETTLED_WITHIN: Duration = Duration::from_secs(5);

/// What the replies state, and what the metrics page says of the same requests.
#[derive(Clone, Debug)]
pub(super) struct Account {
    replies: Replies,
    page: PageSums,
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    name: &'static str,
    replies: u64,
    page: u64,
    /// Whether the demo fails if they differ. The replies' cached tokens are decode's word, the
    /// page's are prefill's.
    must_be_equal: bool,
}

// === impl Account ===

impl Account {
    /// Reads the page until it agrees, or for as long as it may take.
    pub(super) async fn settle(replies: Replies, client: &Client) -> Result<Self, RunError> {
        let begin = Instant::now();
        loop {
            let page = client.metrics_page().await.map_err(RunError::Page)?;
            let account = Self { replies, page: PageSums::read(&page) };
            let agrees = account.rows().iter().all(Row::agrees);
            if agrees || begin.elapsed() > SETTLED_WITHIN {
                return Ok(account);
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Whether requests, prompt and completion tokens are equal.
    pub(super) fn verdict(&self) -> Result<(), RunError> {
        let differing = self.rows().into_iter().filter(|row| row.must_be_equal && !row.agrees());
        let differing: Vec<_> = differing.map(|row| row.to_string()).collect();
        if differing.is_empty() { Ok(()) } else { Err(RunError::Differs(differing.join(", "))) }
    }

    fn rows(&self) -> [Row; 5] {
        let Self { replies, page } = self;
        let row = |name, replies, page| Row { name, replies, page, must_be_equal: true };
        let cached = row("of them cached", replies.tokens.cached, page.tokens.cached);
        [
            row("requests", replies.count, page.complete()),
            row("other outcomes", 0, page.outcomes.values().sum::<u64>() - page.complete()),
            row("prompt tokens", replies.tokens.prompt, page.tokens.prompt),
            Row { must_be_equal: false, ..cached },
            row("completion tokens", replies.tokens.completion, page.tokens.completion),
        ]
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:20}{:>12}{:>16}", "", "replies", "metrics page")?;
        for row in self.rows() {
            let mark = if row.agrees() { "" } else { "  differs" };
            writeln!(f, "{:20}{:>12}{:>16}{mark}", row.name, row.replies, row.page)?;
        }
        let (count, exact) = (self.replies.count, self.page.exact);
        write!(f, "\n{count} of {count} replies stated their usage; the page has it of {exact}.")?;
        if let Some(mean) = self.page.mean_first_token() {
            let (streams, mean) = (self.page.first_tokens, mean * 1e3);
            write!(f, "\nTime to first token: {mean:.1} ms, the mean of {streams} streams.")?;
        }
        Ok(())
    }
}

// === impl Row ===

impl Row {
    fn agrees(&self) -> bool {
        self.replies == self.page
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, replies, page, .. } = self;
        write!(f, "{name} {page} instead of {replies}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::reply::Tokens;

    fn account(page: Tokens) -> Account {
        let tokens = Tokens { prompt: 70, cached: 32, completion: 9 };
        let outcomes = [("complete".to_owned(), 2)].into();
        Account {
            replies: Replies { count: 2, tokens },
            page: PageSums { outcomes, exact: 2, tokens: page, ..PageSums::default() },
        }
    }

    #[test]
    fn only_the_cached_count_may_differ() {
        let account = |prompt, cached| account(Tokens { prompt, cached, completion: 9 });
        assert!(account(70, 32).verdict().is_ok());
        assert!(account(70, 0).verdict().is_ok());
        let error = account(71, 32).verdict().unwrap_err().to_string();
        assert_eq!(
            error,
            "the metrics page differs from the replies: prompt tokens 71 instead of 70"
        );
    }

    #[test]
    fn the_table_is_aligned_and_marks_what_differs() {
        let text = account(Tokens { prompt: 70, cached: 16, completion: 9 }).to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "                         replies    metrics page");
        assert_eq!(lines[1], "requests                       2               2");
        assert_eq!(lines[4], "of them cached                32              16  differs");
    }
}
