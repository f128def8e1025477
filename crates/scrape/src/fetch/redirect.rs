//! Where a redirect leads.

use http::{HeaderValue, Uri, uri::Scheme};

/// The place that an answer to `asked` points to, if it is on the same host and port, by the same
/// scheme: a key must not go elsewhere, nor the numbers come from there.
pub(super) fn follow(asked: &Uri, location: &HeaderValue) -> Option<Uri> {
    let target: Uri = location.to_str().ok()?.parse().ok()?;
    if target.scheme().is_some() {
        let same = target.scheme() == asked.scheme()
            && target.host().zip(asked.host()).is_some_and(|(a, b)| a.eq_ignore_ascii_case(b))
            && port(&target) == port(asked);
        return same.then_some(target);
    }
    let path = target.path_and_query()?.clone();
    // `host/path` without a scheme is no path, and reads as an authority or as nothing
    if target.authority().is_some()
        || !path.as_str().starts_with('/')
        || path.as_str().starts_with("//")
    {
        return None;
    }
    let mut parts = asked.clone().into_parts();
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).ok()
}

fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 })
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Uri};

    #[test]
    fn only_the_same_host_and_port_are_followed() {
        let asked = Uri::from_static("http://engine:80/metrics");
        let follow = |to| super::follow(&asked, &HeaderValue::from_static(to));
        let there = |to| follow(to).map(|uri| uri.path().to_owned());
        assert_eq!(there("/metrics/").as_deref(), Some("/metrics/"));
        assert_eq!(there("http://engine/metrics/").as_deref(), Some("/metrics/"));
        assert_eq!(there("http://ENGINE:80/m").as_deref(), Some("/m"));
        for elsewhere in [
            "http://other/metrics/",
            "http://engine:81/",
            "https://engine/",
            "other:80",
            "//other/m",
        ] {
            assert_eq!(there(elsewhere), None, "{elsewhere}");
        }
        let asked = Uri::from_static("https://engine/metrics");
        let follow_tls = |to| super::follow(&asked, &HeaderValue::from_static(to));
        assert!(follow_tls("https://engine:443/metrics/").is_some());
        assert!(follow_tls("http://engine:443/metrics/").is_none(), "the key would be readable");
        assert_eq!(follow("/a?b=c").unwrap().to_string(), "http://engine:80/a?b=c");
    }
}
