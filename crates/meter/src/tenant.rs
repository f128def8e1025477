//! Who is charged, by a header.

use std::sync::Arc;

use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue,
    header::{AUTHORIZATION, COOKIE},
};

/// Longer names are cut.
const MAX_NAME: usize = 256;

/// Parts of the names of headers that carry credentials.
const CREDENTIALS: [&str; 9] = [
    "authorization",
    "cookie",
    "api-key",
    "apikey",
    "access-key",
    "token",
    "secret",
    "password",
    "signature",
];

/// A header that carries credentials cannot say who is charged: names of tenants are logged and
/// shown.
#[derive(Debug, thiserror::Error)]
#[error("the header '{0}' carries credentials: name one that holds nothing but the tenant's name")]
pub struct CredentialHeader(HeaderName);

/// Reads the tenant from the header `name`, for [`MeterLayer::tenant`](crate::MeterLayer::tenant).
///
/// An empty value, one that is no text, and one that repeats the request's own credentials, name
/// nobody; a name of more than 256 bytes is cut.
///
/// # Errors
///
/// If the header is one of those that carry credentials.
pub fn tenant_header(
    name: HeaderName,
) -> Result<impl Fn(&HeaderMap, &Extensions) -> Option<Arc<str>> + Send + Sync, CredentialHeader> {
    if CREDENTIALS.iter().any(|part| name.as_str().contains(part)) {
        return Err(CredentialHeader(name));
    }
    Ok(move |headers: &HeaderMap, _: &Extensions| {
        let tenant = headers.get(&name)?.to_str().ok()?.trim();
        let named = !tenant.is_empty() && !is_credential(headers, tenant);
        named.then(|| tenant[..tenant.len().min(MAX_NAME)].into())
    })
}

/// Whether what is to be a name is a key: it looks like one, or stands in a header that carries one.
fn is_credential(headers: &HeaderMap, tenant: &str) -> bool {
    let scheme = tenant.split_once(' ').map(|(scheme, _)| scheme);
    if scheme
        .is_some_and(|scheme| ["bearer", "basic"].iter().any(|of| scheme.eq_ignore_ascii_case(of)))
    {
        return true;
    }
    let own = [AUTHORIZATION, COOKIE, HeaderName::from_static("x-api-key")];
    own.iter().flat_map(|name| headers.get_all(name)).any(|value| names_key(value, tenant))
}

/// Whether a name is, or holds, what stands in a header that carries keys.
pub(crate) fn names_key(header: &HeaderValue, name: &str) -> bool {
    let header = String::from_utf8_lossy(header.as_bytes());
    header.split([' ', ';', ',']).filter(|word| !word.is_empty()).any(|word| {
        let value = word.split_once('=').map_or("", |(_, value)| value);
        // Short words may stand in a name by chance.
        let held = |key: &str| key == name || (key.len() >= 8 && name.contains(key));
        held(word) || (!value.is_empty() && held(value))
    })
}

#[cfg(test)]
mod tests {
    use http::{Extensions, HeaderMap, HeaderName, HeaderValue};

    use super::tenant_header;

    fn tenant(pairs: &[(&'static str, &'static str)]) -> Option<String> {
        let pairs = pairs
            .iter()
            .map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let of = tenant_header(HeaderName::from_static("x-tenant")).unwrap();
        of(&pairs.collect::<HeaderMap>(), &Extensions::new()).map(|tenant| tenant.to_string())
    }

    #[test]
    fn names_and_what_names_nobody() {
        for (pairs, want) in [
            (&[("x-tenant", "team-a")][..], Some("team-a")),
            (&[("x-tenant", " team-a ")], Some("team-a")),
            (&[("x-tenant", "team-a"), ("authorization", "Bearer k1")], Some("team-a")),
            (&[], None),
            (&[("x-tenant", " ")], None),
            (&[("x-tenant", "k1"), ("authorization", "Bearer k1")], None),
            (&[("x-tenant", "k1"), ("x-api-key", "k1")], None),
            (&[("x-tenant", "k1"), ("cookie", "a=b; session=k1")], None),
            (&[("x-tenant", "Bearer k1")], None),
            (&[("x-tenant", "dTpTRUs="), ("authorization", "Basic dTpTRUs=")], None),
            (&[("x-tenant", "team sk-long-key"), ("authorization", "Bearer sk-long-key")], None),
        ] {
            assert_eq!(tenant(pairs).as_deref(), want, "{pairs:?}");
        }
    }

    #[test]
    fn long_names_are_cut() {
        let name: &'static str = "x".repeat(1000).leak();
        assert_eq!(tenant(&[("x-tenant", name)]).map(|name| name.len()), Some(256));
    }

    #[test]
    fn headers_with_credentials_are_refused() {
        for name in ["authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"]
        {
            let error = tenant_header(HeaderName::from_static(name)).err();
            assert!(error.is_some_and(|error| error.to_string().contains(name)), "{name}");
        }
    }
}
