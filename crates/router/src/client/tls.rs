//! Connections by TLS.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use rustls::ClientConfig;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time,
};
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use super::connector::connector;
use crate::{LegError, TlsFault};

/// What a connection's bytes go through.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    /// It is large, and few connections are of this kind.
    Tls(Box<TlsStream<TokioIo<TokioIo<TcpStream>>>>),
}

/// Makes connections by TLS.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    https: HttpsConnector<HttpConnector>,
    /// Longest wait for a connection and the handshake on it.
    timeout: Duration,
}

// === impl Connector ===

impl Connector {
    pub(super) fn new(tls: Arc<ClientConfig>, timeout: Duration) -> Self {
        let mut tcp = connector(timeout);
        tcp.enforce_http(false);
        Self { https: (tcp, tls).into(), timeout }
    }

    pub(super) async fn connect(&self, base: Uri) -> Result<Stream, LegError> {
        match time::timeout(self.timeout, self.https.clone().call(base)).await {
            Ok(Ok(MaybeHttpsStream::Https(stream))) => {
                Ok(Stream::Tls(Box::new(stream.into_inner())))
            }
            Ok(Ok(MaybeHttpsStream::Http(stream))) => Ok(Stream::Tcp(stream.into_inner())),
            Ok(Err(error)) => Err(match TlsFault::of(&*error) {
                Some(fault) => LegError::Tls(fault),
                None => LegError::Connect(error),
            }),
            Err(_) => Err(LegError::Tls(TlsFault::Slow(self.timeout))),
        }
    }
}

// === impl Stream ===

impl Stream {
    /// Something may be there to be read. Of TLS only reading tells.
    pub(super) fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            Self::Tls(_) => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
