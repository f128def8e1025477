//! The Prometheus text format, read without copying; and [`escaped`], for who writes it.
//!
//! [`lines`] walks over the samples of a page. It takes what real engines and their re-exporters
//! write: the text format 0.0.4 with any spacing, line ends and exponents, colons in names, `NaN` and
//! infinities, timestamps; of OpenMetrics the exemplars and `# EOF`; the quoted names of Prometheus
//! 3. A line that is none of these is one bad line, and no more than that.

mod escape;
mod labels;
mod line;

pub(crate) use self::escape::escaped_help;
pub use self::{
    escape::escaped,
    labels::{Label, Labels},
    line::{Malformed, Sample},
};

/// The samples of a page, in order; comments and blank lines are passed over.
pub fn lines(page: &str) -> impl Iterator<Item = Result<Sample<'_>, Malformed>> {
    lines_of(page, |_| true)
}

/// As [`lines`], but only of the names that are wanted: what stands on other lines is not looked at.
pub fn lines_of(
    page: &str,
    wanted: impl Fn(&str) -> bool,
) -> impl Iterator<Item = Result<Sample<'_>, Malformed>> {
    Walk { rest: page, wanted }
}

struct Walk<'a, F> {
    rest: &'a str,
    wanted: F,
}

// === impl Walk ===

impl<'a, F: Fn(&str) -> bool> Iterator for Walk<'a, F> {
    type Item = Result<Sample<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', self.rest.as_bytes()).unwrap_or(self.rest.len());
            let line = self.rest[..end].trim_ascii();
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match Sample::read(line, &self.wanted).transpose() {
                Some(item) => return Some(item),
                None => continue,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
