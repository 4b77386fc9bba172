//! The HTML writer. Markup comes from string literals only; all other text is escaped.

use std::fmt::{Display, Write};

#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Writes markup; each `{}` is replaced by the next value, escaped.
    pub(super) fn put(&mut self, markup: &'static str, values: &[&dyn Display]) {
        let mut values = values.iter();
        for (number, part) in markup.split("{}").enumerate() {
            if number > 0
                && let Some(value) = values.next()
            {
                self.text(value);
            }
            self.0.push_str(part);
        }
    }

    pub(super) fn text(&mut self, text: impl Display) {
        // Writing into a string cannot fail.
        let _ = write!(Escaping(&mut self.0), "{text}");
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

/// Escapes text for element content and quoted attributes.
struct Escaping<'a>(&'a mut String);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\0' => self.0.push('\u{fffd}'),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

/// The URL if it is an external http or https one.
pub(super) fn outside(url: &str) -> Option<&str> {
    let valid = url.starts_with("https://") || url.starts_with("http://");
    (valid && !url.contains(|c: char| c.is_control() || c.is_whitespace())).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::{Html, outside};

    #[test]
    fn values_are_escaped() {
        let mut html = Html::default();
        html.put("<a href=\"{}\">{}</a>", &[&"\"><script>", &"a & b's {} <b>"]);
        let expect = "<a href=\"&quot;&gt;&lt;script&gt;\">a &amp; b&#39;s {} &lt;b&gt;</a>";
        assert_eq!(String::from_utf8(html.into_bytes()).unwrap(), expect);
    }

    #[test]
    fn only_http_urls_are_external() {
        assert!(outside("https://example.com/?a=b#c").is_some());
        for url in
            ["javascript:alert(1)", " https://x", "data:text/html,x", "//x", "/x", "https://x\ny", "HTTP://x"]
        {
            assert!(outside(url).is_none(), "{url}");
        }
    }
}
