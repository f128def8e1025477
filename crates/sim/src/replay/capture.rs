//! Recorded answers: what `curl -i --raw` writes.

use bytes::{Bytes, BytesMut};

/// A recorded answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Status line and headers with the blank line after them, as recorded.
    pub head: Bytes,
    /// HTTP status.
    pub status: u16,
    /// Header names and values as recorded.
    pub headers: Vec<(String, String)>,
    /// The body's chunks; a body that is not chunked is one.
    pub chunks: Vec<Bytes>,
    /// Whether the body came in chunks.
    pub chunked: bool,
    /// Whether a chunked body had its last chunk, or another was as long as it said.
    pub complete: bool,
}

/// Bytes that are no recorded answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// No blank line ends a head.
    #[error("no head")]
    NoHead,
    /// The first line is no status line.
    #[error("no status line")]
    NoStatus,
}

// === impl Capture ===

impl Capture {
    /// Reads a recording. A body that was cut off is kept as far as it goes, without the piece of
    /// a chunk that is not whole; anything after the end of the answer is ignored.
    ///
    /// # Errors
    ///
    /// When there is no head, for instance because the client gave up before it came.
    pub fn parse(raw: &[u8]) -> Result<Self, CaptureError> {
        let end = raw.windows(4).position(|window| window == b"\r\n\r\n");
        let (head, body) = raw.split_at(end.ok_or(CaptureError::NoHead)? + 4);
        let text = String::from_utf8_lossy(head);
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 "));
        let status = status.and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or(CaptureError::NoStatus)?;
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        let find = |wanted: &str| {
            let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.map(|(_, value)| value.as_str())
        };
        let chunked = find("transfer-encoding").is_some_and(|value| value.contains("chunked"));
        let (chunks, complete) = if chunked {
            split_chunks(body)
        } else {
            let length = find("content-length").and_then(|value| value.parse().ok());
            let length = length.unwrap_or(body.len());
            let whole = &body[..length.min(body.len())];
            (vec![Bytes::copy_from_slice(whole)], body.len() >= length)
        };
        let head = Bytes::copy_from_slice(head);
        Ok(Self { head, status, headers, chunks, chunked, complete })
    }

    /// The body without framing.
    #[must_use]
    pub fn body(&self) -> Bytes {
        let mut body = BytesMut::new();
        self.chunks.iter().for_each(|chunk| body.extend_from_slice(chunk));
        body.freeze()
    }

    /// One piece of wire bytes for each chunk, framing included, and one for the last chunk if
    /// there was one.
    #[must_use]
    pub fn wire_chunks(&self) -> Vec<Bytes> {
        if !self.chunked {
            return self.chunks.clone();
        }
        let frame = |chunk: &Bytes| {
            let mut framed = BytesMut::from(format!("{:x}\r\n", chunk.len()).as_bytes());
            framed.extend_from_slice(chunk);
            framed.extend_from_slice(b"\r\n");
            framed.freeze()
        };
        let mut pieces: Vec<_> = self.chunks.iter().map(frame).collect();
        if self.complete {
            pieces.push(Bytes::from_static(b"0\r\n\r\n"));
        }
        pieces
    }

    /// The answer as it was on the wire, chunk for chunk.
    #[must_use]
    pub fn to_wire(&self) -> Bytes {
        let mut wire = BytesMut::from(&self.head[..]);
        self.wire_chunks().iter().for_each(|piece| wire.extend_from_slice(piece));
        wire.freeze()
    }
}

/// The whole chunks of a chunked body, and whether the last chunk came.
fn split_chunks(mut body: &[u8]) -> (Vec<Bytes>, bool) {
    let mut chunks = Vec::new();
    while let Some((chunk, rest)) = next_chunk(body) {
        if chunk.is_empty() {
            return (chunks, true);
        }
        chunks.push(Bytes::copy_from_slice(chunk));
        body = rest;
    }
    (chunks, false)
}

/// The first chunk and what follows it.
fn next_chunk(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = body.windows(2).position(|window| window == b"\r\n")?;
    let size = std::str::from_utf8(&body[..line]).ok()?.split(';').next()?;
    let size = usize::from_str_radix(size.trim(), 16).ok()?;
    let rest = &body[line + 2..];
    let chunk = rest.get(..size)?;
    Some((chunk, rest.get(size + 2..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\n\
        Transfer-Encoding: chunked\r\n\r\n\
        9\r\ndata: a\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";

    #[test]
    fn a_stream_comes_apart_and_together_again() {
        let capture = Capture::parse(&[STREAM, b"\nreal 0m1s"].concat()).unwrap();
        assert_eq!((capture.status, capture.chunked, capture.complete), (200, true, true));
        assert_eq!(capture.headers[0], ("server".to_owned(), "uvicorn".to_owned()));
        assert_eq!(capture.body(), "data: a\n\ndata: [DONE]\n\n");
        assert_eq!(capture.to_wire(), STREAM);
    }

    #[test]
    fn a_cut_stream_has_no_last_chunk() {
        let cut = &STREAM[..STREAM.len() - 12];
        let capture = Capture::parse(cut).unwrap();
        assert!(!capture.complete);
        assert_eq!(capture.body(), "data: a\n\n");
        assert!(capture.to_wire().ends_with(b"data: a\n\n\r\n"));
    }

    #[test]
    fn a_json_answer_is_one_piece() {
        let raw = b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}\n";
        let capture = Capture::parse(raw).unwrap();
        assert_eq!((capture.status, capture.complete), (404, true));
        assert_eq!(capture.to_wire(), &raw[..raw.len() - 1]);
    }

    #[test]
    fn what_curl_says_is_no_answer() {
        assert_eq!(Capture::parse(b"curl: (28) Timeout"), Err(CaptureError::NoHead));
        assert_eq!(Capture::parse(b"SSH\r\n\r\n"), Err(CaptureError::NoStatus));
    }
}
