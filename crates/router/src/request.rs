//! The client's request, read and checked before anything is sent.

use std::{error::Error, io, mem, pin::pin};

use bytes::Bytes;
use http::{Request, request};
use http_body::Body;
use http_body_util::BodyExt;
use plimsoll_wire::{Endpoint, PeekSlot, Splice, edit::Gather};

use crate::{Cluster, RouteError, error::causes, headers};

/// Any error of a body.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// An inference request that may be sent.
#[derive(Debug)]
pub(crate) struct Inference {
    pub(crate) endpoint: Endpoint,
    pub(crate) parts: request::Parts,
    pub(crate) body: Splice,
    /// Holds the peek.
    pub(crate) slot: PeekSlot,
}

// === impl Inference ===

impl Inference {
    /// Reads the body and checks what must be known before a worker sees it.
    ///
    /// # Errors
    ///
    /// Where the body is too large, breaks off or is not JSON, and where it or a header would steer
    /// an engine.
    pub(crate) async fn read<B: Body<Data = Bytes, Error: Into<BoxError>>>(
        request: Request<B>,
        endpoint: Endpoint,
        cluster: &Cluster,
    ) -> Result<Self, RouteError> {
        let config = cluster.config();
        let (mut parts, body) = request.into_parts();
        if let Some(name) =
            headers::steering(&parts.headers).filter(|_| !config.allow_client_routing)
        {
            return Err(RouteError::Steering(name.to_owned()));
        }
        let mut body = collect(body, config.max_body).await?;
        let slot = parts.extensions.remove::<PeekSlot>().unwrap_or_default();
        if slot.get().is_none() {
            let whole = body.into_bytes();
            slot.read(&whole)?;
            body = whole.into();
        }
        let model = slot.get().and_then(|peek| peek.model.as_deref());
        if let Some(model) = cluster.served_model(model) {
            slot.set_served_model(model);
        }
        let inference = Self { endpoint, parts, body, slot };
        match inference.slot.get().and_then(|peek| peek.steering) {
            Some(field) if !config.allow_client_routing => {
                Err(RouteError::Steering(field.to_owned()))
            }
            _ => Ok(inference),
        }
    }
}

/// Pieces shorter than so many bytes are put together: a body in very many would take many times its
/// length.
const SMALL: usize = 1024;

/// Reads a body of at most `limit` bytes, its large frames uncopied.
///
/// # Errors
///
/// If it is larger, or cannot be read.
pub(crate) async fn collect<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    body: B,
    limit: u64,
) -> Result<Splice, RouteError> {
    let too_large = RouteError::TooLarge { limit };
    if body.size_hint().lower() > limit {
        return Err(too_large);
    }
    let mut body = pin!(body.map_err(|error| broken(&*error.into())));
    let (mut whole, mut small) = (Splice::default(), Gather::default());
    while let Some(frame) = body.frame().await {
        match frame?.into_data() {
            Ok(data) if data.len() < SMALL => small.push(data, 0),
            Ok(data) => {
                whole.push(mem::take(&mut small).into_bytes());
                whole.push(data);
            }
            Err(_) => {}
        }
        if (whole.len() + small.len()) as u64 > limit {
            return Err(too_large);
        }
    }
    whole.push(small.into_bytes());
    Ok(whole)
}

/// Why a body cannot be read to its end: the connection is gone, the rest did not come, or what came
/// cannot be read.
fn broken(error: &(dyn Error + 'static)) -> RouteError {
    let mut kinds = causes(error).filter_map(|cause| cause.downcast_ref().map(io::Error::kind));
    let told = kinds.find_map(|kind| match kind {
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => Some(RouteError::ClientLeft),
        io::ErrorKind::TimedOut => Some(RouteError::BodyStalled),
        _ => None,
    });
    told.unwrap_or(RouteError::BodyBroke)
}
