//! What a replay server does with a request.

use std::time::Duration;

use bytes::Bytes;

/// One step of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Writes bytes as they are.
    Write(Bytes),
    /// Waits.
    Wait(Duration),
    /// Waits until the client closes the connection.
    WaitForClose,
    /// Closes the connection (FIN).
    Close,
    /// Resets the connection (RST).
    Reset,
}

/// The steps of an answer, in order. After the last the connection is open for another request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    pub(super) steps: Vec<Step>,
}

// === impl Reply ===

impl Reply {
    /// An answer of no steps.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step.
    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds bytes to be written.
    #[must_use]
    pub fn write(self, bytes: impl Into<Bytes>) -> Self {
        self.then(Step::Write(bytes.into()))
    }

    /// A status with a JSON body.
    #[must_use]
    pub fn json(status: u16, body: &str) -> Self {
        let head = format!(
            "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: \
             {}\r\n\r\n",
            body.len()
        );
        Self::new().write(head + body)
    }
}

impl FromIterator<Step> for Reply {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Self { steps: steps.into_iter().collect() }
    }
}
