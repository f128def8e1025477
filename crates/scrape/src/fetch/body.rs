//! Bodies, within a limit, compressed or not.

use std::io::{self, Read};

use bytes::{Buf, Bytes};
use flate2::bufread::MultiGzDecoder;
use http::HeaderValue;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;

/// The most that is read of an answer, and the most that it may be once decompressed: 16 MiB.
const MAX_BODY: usize = 16 << 20;

/// Why a body cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("it is larger than {} MiB", MAX_BODY >> 20)]
    TooLarge,
    #[error("it broke off: {0}")]
    Broken(Box<dyn std::error::Error + Send + Sync>),
    #[error("its encoding is not gzip")]
    Encoding,
    #[error("it is no gzip: {0}")]
    Gzip(#[from] io::Error),
}

/// The whole body.
pub(super) async fn read(
    body: Incoming,
    encoding: Option<&HeaderValue>,
) -> Result<Bytes, BodyError> {
    let body = Limited::new(body, MAX_BODY).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() { BodyError::TooLarge } else { BodyError::Broken(error) }
    })?;
    let body = body.to_bytes();
    match encoding.map(HeaderValue::as_bytes) {
        None | Some(b"identity" | b"") => Ok(body),
        Some(b"gzip" | b"x-gzip") => unzip(body, MAX_BODY),
        Some(_) => Err(BodyError::Encoding),
    }
}

/// What is inside, of which a small body may hold very much.
fn unzip(body: Bytes, limit: usize) -> Result<Bytes, BodyError> {
    let mut inside = Vec::with_capacity(body.len().saturating_mul(8).min(limit));
    let one_more = u64::try_from(limit).map_or(u64::MAX, |limit| limit + 1);
    MultiGzDecoder::new(body.reader()).take(one_more).read_to_end(&mut inside)?;
    if inside.len() > limit { Err(BodyError::TooLarge) } else { Ok(inside.into()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use bytes::Bytes;
    use flate2::{Compression, write::GzEncoder};

    use super::{BodyError, unzip};

    fn zip(bytes: &[u8]) -> Bytes {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().into()
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bomb = zip(&vec![b'x'; 1 << 20]);
        assert!(bomb.len() < 2048);
        assert_eq!(unzip(bomb.clone(), 1 << 20).unwrap().len(), 1 << 20);
        assert!(matches!(unzip(bomb, (1 << 20) - 1), Err(BodyError::TooLarge)));
    }

    #[test]
    fn what_is_no_gzip_is_an_error() {
        assert!(matches!(unzip(Bytes::from_static(b"a 1\n"), 1 << 20), Err(BodyError::Gzip(_))));
        let cut = zip(b"a 1\n").slice(..12);
        assert!(matches!(unzip(cut, 1 << 20), Err(BodyError::Gzip(_))));
    }
}
