//! The client's request, read and checked before anything is sent.

use std::pin::pin;

use bytes::Bytes;
use http::{Request, request};
use http_body::Body;
use http_body_util::BodyExt;
use plimsoll_wire::{Endpoint, PeekSlot, Splice};

use crate::{RouteError, RouterConfig, headers};

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
    pub(crate) async fn read<B: Body<Data = Bytes>>(
        request: Request<B>,
        endpoint: Endpoint,
        config: &RouterConfig,
    ) -> Result<Self, RouteError> {
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
        let inference = Self { endpoint, parts, body, slot };
        match inference.slot.get().and_then(|peek| peek.steering) {
            Some(field) if !config.allow_client_routing => {
                Err(RouteError::Steering(field.to_owned()))
            }
            _ => Ok(inference),
        }
    }
}

/// Reads a body, its frames uncopied.
async fn collect<B: Body<Data = Bytes>>(body: B, limit: u64) -> Result<Splice, RouteError> {
    let too_large = RouteError::TooLarge { limit };
    if body.size_hint().lower() > limit {
        return Err(too_large);
    }
    let mut body = pin!(body);
    let mut whole = Splice::default();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| RouteError::BodyBroke)?;
        if let Ok(data) = frame.into_data() {
            whole.push(data);
        }
        if whole.len() as u64 > limit {
            return Err(too_large);
        }
    }
    Ok(whole)
}
