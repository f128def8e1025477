use std::{
    fmt,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use http::{Request, Response};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::{TrySendError, http1},
};
use plimsoll_wire::Splice;

use super::{
    connector::Stream,
    doorbell::Doorbell,
    socket::{Allowance, Socket},
};

/// What is sent over a connection.
pub(super) type Sending = Request<Full<Splice>>;

/// A connection to a worker. It has no task of its own: whoever waits for its answer moves it on,
/// so nothing is handed from one task to another, and what has come together is found together.
pub(super) struct Connection {
    sender: http1::SendRequest<Full<Splice>>,
    /// There until the connection has ended.
    driver: Option<Box<Driver>>,
    bell: Doorbell,
    allowance: Allowance,
    has_served: bool,
}

type Driver = http1::Connection<Socket, Full<Splice>>;

// === impl Connection ===

impl Connection {
    pub(super) async fn over(stream: Stream) -> hyper::Result<Self> {
        let allowance = Allowance::new();
        let (sender, driver) = http1::handshake(Socket::new(stream, allowance.clone())).await?;
        let driver = Some(Box::new(driver));
        Ok(Self { sender, driver, bell: Doorbell::new(), allowance, has_served: false })
    }

    /// It has brought an answer before.
    pub(super) fn has_served(&self) -> bool {
        self.has_served
    }

    /// It has brought the head of an answer.
    pub(super) fn note_head(&mut self) {
        self.has_served = true;
        self.allowance.lift();
    }

    /// Sends a request and waits for the answer's head. A request that was never begun comes back
    /// with the error.
    pub(super) async fn send(
        &mut self,
        request: Sending,
    ) -> Result<Response<Incoming>, TrySendError<Sending>> {
        self.allowance.limit();
        let mut answer = pin!(self.sender.try_send_request(request));
        poll_fn(|cx| self.drive(cx, |cx| answer.as_mut().poll(cx))).await
    }

    /// Moves the connection on until `next`, which takes from it, is ready.
    pub(super) fn drive<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut next: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let Self { driver, bell, .. } = self;
        bell.listen(cx, |cx| {
            poll(driver, cx);
            next(cx)
        })
    }

    /// Nothing is under way, and the worker has not closed it.
    pub(super) fn is_idle(&mut self) -> bool {
        poll(&mut self.driver, &mut Context::from_waker(Waker::noop()));
        self.driver.is_some() && self.sender.is_ready()
    }
}

/// Lets hyper read and write. How a connection ended is told to whoever waits for an answer.
fn poll(driver: &mut Option<Box<Driver>>, cx: &mut Context<'_>) {
    if driver.as_mut().is_some_and(|driver| Pin::new(driver).poll(cx).is_ready()) {
        *driver = None;
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("has_served", &self.has_served).finish_non_exhaustive()
    }
}
