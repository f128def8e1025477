//! Waiting, always with a limit.

use std::{future::Future, pin::Pin, time::Duration};

use tokio::time::{Instant, sleep, timeout};

use super::program;

/// No test runs longer.
const TEST: Duration = Duration::from_secs(40);

/// No condition is waited for longer.
const CONDITION: Duration = Duration::from_secs(15);

/// A test within its time limit. The binary is built before the time starts.
pub(crate) fn bounded<'a>(
    test: impl Future<Output = ()> + 'a,
) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
    within(TEST, test)
}

/// A test with a time limit of its own.
pub(crate) fn within<'a>(
    limit: Duration,
    test: impl Future<Output = ()> + 'a,
) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
    Box::pin(async move {
        program::plimsoll();
        let ended = timeout(limit, Box::pin(test)).await;
        assert!(ended.is_ok(), "the test took longer than {limit:?}");
    })
}

/// Asks until the answer is `Ok`; fails with the last `Err`.
pub(crate) async fn eventually<T>(mut check: impl AsyncFnMut() -> Result<T, String>) -> T {
    let end = Instant::now() + CONDITION;
    loop {
        match check().await {
            Ok(value) => return value,
            Err(reason) => assert!(Instant::now() < end, "not within {CONDITION:?}: {reason}"),
        }
        sleep(Duration::from_millis(4)).await;
    }
}
