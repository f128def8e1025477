use std::{
    io,
    mem::MaybeUninit,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, ready},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, ReadBuf};

use super::connector::Stream;

/// How much is read at a time where it must be known how much it was, in bytes: as much as hyper
/// would read at first.
const ROOM: usize = 8192;

/// The socket to a worker. A worker may answer, and close, before it has read the whole request: what
/// it said must be read, though writing fails. So that failure is told only where reading ends, and
/// what is written after it goes nowhere.
#[derive(Debug)]
pub(super) struct Socket {
    io: TokioIo<Stream>,
    /// How much may come.
    allowance: Allowance,
    /// Why nothing can be written.
    broken: Option<io::Error>,
}

/// How much may come before the head of an answer. Hyper passes over interim answers however many
/// there are, and reads on as long as they come. Clones are one.
#[derive(Clone, Debug)]
pub(super) struct Allowance(Arc<AtomicU32>);

// === impl Allowance ===

impl Allowance {
    /// In bytes: more than the largest head that hyper takes.
    const BEFORE_HEAD: u32 = 1 << 20;
    const UNLIMITED: u32 = u32::MAX;

    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU32::new(Self::UNLIMITED)))
    }

    /// A head is waited for.
    pub(super) fn limit(&self) {
        self.0.store(Self::BEFORE_HEAD, Ordering::Relaxed);
    }

    /// The head is there.
    pub(super) fn lift(&self) {
        self.0.store(Self::UNLIMITED, Ordering::Relaxed);
    }

    fn is_limited(&self) -> bool {
        self.0.load(Ordering::Relaxed) != Self::UNLIMITED
    }

    /// So many bytes have come.
    fn spend(&self, length: usize) -> io::Result<()> {
        let left = self.0.load(Ordering::Relaxed);
        if left == Self::UNLIMITED {
            return Ok(());
        }
        let left = u32::try_from(length).ok().and_then(|length| left.checked_sub(length));
        let left = left.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "too much came before the answer's head")
        })?;
        self.0.store(left, Ordering::Relaxed);
        Ok(())
    }
}

// === impl Socket ===

impl Socket {
    pub(super) fn new(stream: Stream, allowance: Allowance) -> Self {
        Self { io: TokioIo::new(stream), allowance, broken: None }
    }

    /// Writes so, or not at all.
    fn write(
        &mut self,
        length: usize,
        write: impl FnOnce(Pin<&mut TokioIo<Stream>>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if self.broken.is_some() {
            return Poll::Ready(Ok(length));
        }
        match ready!(write(Pin::new(&mut self.io))) {
            Err(error) => {
                self.broken = Some(error);
                Poll::Ready(Ok(length))
            }
            written => Poll::Ready(written),
        }
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { io, allowance, broken } = &mut *self;
        if broken.is_none() && !allowance.is_limited() {
            return Pin::new(io).poll_read(cx, buffer);
        }
        // Mostly nothing is there yet, and no room need be made for it.
        ready!(io.inner().poll_read_ready(cx))?;
        // How much was read cannot be seen in a buffer that was given away.
        let mut bytes = [const { MaybeUninit::uninit() }; ROOM];
        let mut read = ReadBuf::uninit(&mut bytes[..buffer.remaining().min(ROOM)]);
        let ended = ready!(Pin::new(io.inner_mut()).poll_read(cx, &mut read));
        if let Some(broken) = broken.as_ref().filter(|_| ended.is_err() || read.filled().is_empty())
        {
            return Poll::Ready(Err(io::Error::new(broken.kind(), broken.to_string())));
        }
        ended?;
        allowance.spend(read.filled().len())?;
        buffer.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(bytes.len(), |io| io.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = pieces.iter().map(|piece| piece.len()).sum();
        self.write(length, |io| io.poll_write_vectored(cx, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(0, |io| io.poll_flush(cx).map_ok(|()| 0)).map_ok(|_| ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
