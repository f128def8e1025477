//! The dashboard: one page that holds its styles, its scripts and its chart library, and asks for
//! nothing but the `/kv` and `/metrics` beside it.
//!
//! `uplot/` is uPlot 1.6.32 as its npm package has it, under the MIT licence that lies there.

/// The page.
pub(crate) const PAGE: &str = concat!(
    include_str!("head.html"),
    "<style>\n",
    include_str!("uplot/uPlot.min.css"),
    include_str!("style.css"),
    "</style>\n",
    include_str!("body.html"),
    "<script>\n",
    include_str!("uplot/uPlot.iife.min.js"),
    "</script>\n<script type=\"module\">\n",
    include_str!("text.js"),
    include_str!("metrics.js"),
    include_str!("past.js"),
    include_str!("charts.js"),
    include_str!("fullness.js"),
    include_str!("table.js"),
    include_str!("main.js"),
    "</script>\n</body>\n</html>\n",
);

/// What a browser may let the page do: run what it holds, and ask where it comes from.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; \
    style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::PAGE;

    #[test]
    fn the_page_has_each_part_once_and_names_no_other_place() {
        for part in ["</head>", "<body", "</body>", "id=\"fullness\"", "id=\"charts\""] {
            assert_eq!(PAGE.matches(part).count(), 1, "{part}");
        }
        assert_eq!(PAGE.matches("<script").count(), PAGE.matches("</script>").count());
        for attribute in ["src=\"http", "href=\"http", "url(http", "@import", "import("] {
            assert!(!PAGE.contains(attribute), "{attribute}");
        }
    }
}
