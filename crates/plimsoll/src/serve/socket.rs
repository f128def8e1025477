//! The socket of a client, and what its connection is doing.

use std::{
    io,
    mem::MaybeUninit,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much is read ahead of a request that runs, in bytes: more than what a client may send after
/// its body by mistake, less than what is worth its room.
const AHEAD: usize = 4 << 10;

/// A client's socket, of TCP or TLS. While a request runs hyper reads only if it has nothing left of what came
/// before, so that a client that sent one byte too many could leave unnoticed. Here it is noticed: what
/// hyper does not ask for is read ahead, up to a limit.
#[derive(Debug)]
pub(super) struct Socket<T> {
    io: TokioIo<T>,
    activity: Arc<Activity>,
    /// Read ahead, not asked for yet.
    ahead: Vec<u8>,
    /// Hyper waits for more since it last flushed: it will notice the end itself.
    waits: bool,
}

/// What a connection is doing.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// A request has come.
    called: AtomicBool,
    /// Requests whose answers have not ended.
    running: AtomicUsize,
    /// The only request that runs is there whole: what comes now is surplus.
    is_read: AtomicBool,
    /// Something is to be written that the client does not take yet.
    is_held_up: AtomicBool,
}

/// A request that runs until this is dropped.
#[derive(Debug)]
pub(super) struct Running(Arc<Activity>);

/// A request that is there whole, or is read no further, once this is dropped.
#[derive(Debug)]
pub(super) struct Reading(Arc<Activity>);

// === impl Activity ===

impl Activity {
    /// A request has come.
    pub(super) fn begin(self: &Arc<Self>) -> Running {
        self.called.store(true, Ordering::Relaxed);
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(self.clone())
    }

    /// It is the only one on its connection (HTTP/1.1), and is being read.
    pub(super) fn read(self: &Arc<Self>) -> Reading {
        Reading(self.clone())
    }

    pub(super) fn was_called(&self) -> bool {
        self.called.load(Ordering::Relaxed)
    }

    /// No request runs, and no answer waits for its client.
    pub(super) fn is_idle(&self) -> bool {
        self.running.load(Ordering::Relaxed) == 0 && !self.is_held_up.load(Ordering::Relaxed)
    }

    fn note_written<T>(&self, written: Poll<T>) -> Poll<T> {
        // Mostly nothing changes, and then nothing is stored.
        if self.is_held_up.load(Ordering::Relaxed) != written.is_pending() {
            self.is_held_up.store(written.is_pending(), Ordering::Relaxed);
        }
        written
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.is_read.store(false, Ordering::Relaxed);
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.is_read.store(true, Ordering::Relaxed);
    }
}

// === impl Socket ===

impl<T: AsyncRead + AsyncWrite + Unpin> Socket<T> {
    pub(super) fn new(stream: T, activity: Arc<Activity>) -> Self {
        Self { io: TokioIo::new(stream), activity, ahead: Vec::new(), waits: false }
    }

    /// Reads what there is, as far as there is room for it, and sees to it that the task is woken
    /// by more.
    ///
    /// # Errors
    ///
    /// If the client has left.
    fn read_ahead(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let Self { io, ahead, .. } = self;
        let mut room = [const { MaybeUninit::uninit() }; AHEAD];
        while ahead.len() < AHEAD {
            let mut read = ReadBuf::uninit(&mut room[..AHEAD - ahead.len()]);
            if Pin::new(io.inner_mut()).poll_read(cx, &mut read)?.is_pending() {
                break;
            }
            if read.filled().is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            ahead.extend_from_slice(read.filled());
        }
        Ok(())
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Read for Socket<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            let read = Pin::new(&mut self.io).poll_read(cx, buffer);
            self.waits = read.is_pending();
            return read;
        }
        let taken = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(&self.ahead[..taken]);
        self.ahead.drain(..taken);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Write for Socket<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.activity.note_written(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, pieces);
        self.activity.note_written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let waits = std::mem::take(&mut self.waits);
        if !waits && self.activity.is_read.load(Ordering::Relaxed) {
            self.read_ahead(cx)?;
        }
        // What TLS has taken may still be here.
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        self.activity.note_written(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
