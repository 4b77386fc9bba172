//! A Markdown renderer: paragraphs, headings, lists, quotes, tables, code, links.
//!
//! HTML is shown as text, except for comments, which are hidden: programs leave their marks there.

use std::iter::Peekable;

use super::html::{Html, outside};

/// Longer texts are shown unformatted.
const MOST: usize = 200_000;

/// Longer lines are shown unformatted: the search for closing marks is quadratic in the length of a line.
const LONGEST: usize = 10_000;

pub(super) fn write(html: &mut Html, text: &str) {
    let text = without_comments(text);
    if text.trim().is_empty() {
        html.put("<p class=\"quiet\">No description.</p>", &[]);
        return;
    }
    if text.len() > MOST {
        html.put("<pre>{}</pre>", &[&text]);
        return;
    }
    let mut writer = Writer { html, open: Open::Nothing };
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim_end();
        if cells(line).is_some() && lines.next_if(|next| is_rule(next)).is_some() {
            writer.switch_block(Open::Nothing);
            writer.table(line, &mut lines);
        } else if line.trim_start().starts_with("```") {
            writer.switch_block(Open::Nothing);
            writer.code(&mut lines);
        } else {
            writer.line(line);
        }
    }
    writer.switch_block(Open::Nothing);
}

fn without_comments(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("<!--") {
        let Some((_, after)) = behind.split_once("-->") else { break };
        shown.push_str(before);
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Paragraph,
    List,
    Numbers,
    Quote,
}

struct Writer<'a> {
    html: &'a mut Html,
    open: Open,
}

impl Writer<'_> {
    /// Closes the open block and opens another, unless it is the same.
    fn switch_block(&mut self, open: Open) {
        if self.open == open {
            return;
        }
        self.html.put(
            match self.open {
                Open::Nothing => "",
                Open::Paragraph => "</p>",
                Open::List => "</ul>",
                Open::Numbers => "</ol>",
                Open::Quote => "</blockquote>",
            },
            &[],
        );
        self.html.put(
            match open {
                Open::Nothing => "",
                Open::Paragraph => "<p>",
                Open::List => "<ul>",
                Open::Numbers => "<ol>",
                Open::Quote => "<blockquote>",
            },
            &[],
        );
        self.open = open;
    }

    fn line(&mut self, line: &str) {
        let bare = line.trim_start();
        let hashes = bare.len() - bare.trim_start_matches('#').len();
        if bare.is_empty() {
            self.switch_block(Open::Nothing);
        } else if (1..=6).contains(&hashes) && bare[hashes..].starts_with(' ') {
            self.switch_block(Open::Nothing);
            self.html.put("<h4>", &[]);
            self.words(bare[hashes..].trim());
            self.html.put("</h4>", &[]);
        } else if let Some(item) = ["- ", "* ", "+ "].iter().find_map(|mark| bare.strip_prefix(mark)) {
            self.switch_block(Open::List);
            self.item(item);
        } else if let Some(item) = numbered(bare) {
            self.switch_block(Open::Numbers);
            self.item(item);
        } else if let Some(quote) = bare.strip_prefix('>') {
            self.switch_block(Open::Quote);
            self.words(quote.trim());
            self.html.put("<br>", &[]);
        } else {
            if self.open == Open::Paragraph {
                self.html.put("<br>", &[]);
            }
            self.switch_block(Open::Paragraph);
            self.words(line);
        }
    }

    fn item(&mut self, item: &str) {
        for (mark, markup) in [
            ("[ ] ", "<li class=\"task\"><span class=\"box\"></span>"),
            ("[x] ", "<li class=\"task\"><span class=\"box on\"></span>"),
        ] {
            if let Some(item) = item.strip_prefix(mark) {
                self.html.put(markup, &[]);
                self.words(item);
                self.html.put("</li>", &[]);
                return;
            }
        }
        self.html.put("<li>", &[]);
        self.words(item);
        self.html.put("</li>", &[]);
    }

    fn code<'t>(&mut self, lines: &mut impl Iterator<Item = &'t str>) {
        self.html.put("<pre><code>", &[]);
        for line in lines.take_while(|line| !line.trim_start().starts_with("```")) {
            self.html.put("{}\n", &[&line]);
        }
        self.html.put("</code></pre>", &[]);
    }

    /// Writes a table after its header line and separator line.
    fn table<'t>(&mut self, head: &str, lines: &mut Peekable<impl Iterator<Item = &'t str>>) {
        self.html.put("<div class=\"scroll\"><table><thead>", &[]);
        self.row(head, "<th>", "</th>");
        self.html.put("</thead><tbody>", &[]);
        while let Some(line) = lines.next_if(|line| cells(line).is_some()) {
            self.row(line, "<td>", "</td>");
        }
        self.html.put("</tbody></table></div>", &[]);
    }

    fn row(&mut self, line: &str, begin: &'static str, end: &'static str) {
        self.html.put("<tr>", &[]);
        for cell in cells(line).unwrap_or_default() {
            self.html.put(begin, &[]);
            self.words(cell.trim());
            self.html.put(end, &[]);
        }
        self.html.put("</tr>", &[]);
    }

    /// Writes one line with code, emphasis and links.
    fn words(&mut self, line: &str) {
        if line.len() > LONGEST {
            self.html.text(line);
            return;
        }
        let mut rest = line;
        while let Some(at) = rest.find(['`', '*', '[', 'h']) {
            let (before, here) = rest.split_at(at);
            self.html.text(before);
            rest = match span(here) {
                Some(Span::Code(words, behind)) => {
                    self.html.put("<code>{}</code>", &[&words]);
                    behind
                }
                Some(Span::Bold(words, behind)) => {
                    self.html.put("<strong>{}</strong>", &[&words]);
                    behind
                }
                Some(Span::Stressed(words, behind)) => {
                    self.html.put("<em>{}</em>", &[&words]);
                    behind
                }
                Some(Span::Link(words, url, behind)) => {
                    self.html
                        .put("<a href=\"{}\" rel=\"noopener noreferrer nofollow\">{}</a>", &[&url, &words]);
                    behind
                }
                None => {
                    let next = here.chars().next().map_or(0, char::len_utf8);
                    self.html.text(&here[..next]);
                    &here[next..]
                }
            };
        }
        self.html.text(rest);
    }
}

/// The cells of a table line, `| a | b |`.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?;
    Some(inner.strip_suffix('|').unwrap_or(inner).split('|').collect())
}

/// Whether a line separates the header of a table, `|---|--:|`.
fn is_rule(line: &str) -> bool {
    let dashes = |cell: &str| {
        let cell = cell.trim().trim_matches(':');
        !cell.is_empty() && cell.bytes().all(|byte| byte == b'-')
    };
    cells(line).is_some_and(|cells| cells.into_iter().all(dashes))
}

fn numbered(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    (1..=4).contains(&digits).then(|| line[digits..].strip_prefix(". ")).flatten()
}

/// A formatted span and the text after it.
enum Span<'t> {
    Code(&'t str, &'t str),
    Bold(&'t str, &'t str),
    Stressed(&'t str, &'t str),
    Link(&'t str, &'t str, &'t str),
}

fn span(text: &str) -> Option<Span<'_>> {
    if let Some(rest) = text.strip_prefix('`') {
        let (words, behind) = rest.split_once('`')?;
        return (!words.is_empty()).then_some(Span::Code(words, behind));
    }
    if let Some(rest) = text.strip_prefix("**") {
        let (words, behind) = rest.split_once("**")?;
        return (!words.trim().is_empty()).then_some(Span::Bold(words, behind));
    }
    if let Some(rest) = text.strip_prefix('*') {
        let (words, behind) = rest.split_once('*')?;
        let is_stressed = !words.is_empty() && words.trim() == words;
        return is_stressed.then_some(Span::Stressed(words, behind));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (words, behind) = rest.split_once("](")?;
        let (url, behind) = behind.split_once(')')?;
        return Some(Span::Link(words, outside(url)?, behind));
    }
    if text.starts_with("https://") || text.starts_with("http://") {
        let end = text.find(|c: char| c.is_whitespace() || "<>\"')`".contains(c)).unwrap_or(text.len());
        let url = text[..end].trim_end_matches(['.', ',', ':', ';', '!']);
        return Some(Span::Link(url, outside(url)?, &text[url.len()..]));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::html::Html;
    use super::write;

    #[test]
    fn markdown_is_rendered() {
        for (text, expect) in [
            ("a\nb\n\nc", "<p>a<br>b</p><p>c</p>"),
            (
                "# T\n- a\n- [x] b\n1. c",
                "<h4>T</h4><ul><li>a</li><li class=\"task\"><span class=\"box on\"></span>b</li></ul><ol><li>c</li></ol>",
            ),
            ("`a<b` **c** *d*", "<p><code>a&lt;b</code> <strong>c</strong> <em>d</em></p>"),
            ("2 * 3 * 4, a*, **", "<p>2 * 3 * 4, a*, **</p>"),
            ("```rs\n<b>\n```\nx", "<pre><code>&lt;b&gt;\n</code></pre><p>x</p>"),
            ("```\nnever closed", "<pre><code>never closed\n</code></pre>"),
            (
                "| a | b |\n|---|--:|\n| `c` | <d> |\n|e|\nf",
                "<div class=\"scroll\"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr>\
                 <td><code>c</code></td><td>&lt;d&gt;</td></tr><tr><td>e</td></tr></tbody></table></div><p>f</p>",
            ),
            ("| no | table |\nx", "<p>| no | table |<br>x</p>"),
            ("> q", "<blockquote>q<br></blockquote>"),
            (
                "see http://x.y/z.",
                "<p>see <a href=\"http://x.y/z\" rel=\"noopener noreferrer nofollow\">http://x.y/z</a>.</p>",
            ),
            ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"),
            ("<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>"),
            ("<!-- note -->", "<p class=\"quiet\">No description.</p>"),
            ("a <!-- b", "<p>a &lt;!-- b</p>"),
        ] {
            let mut html = Html::default();
            write(&mut html, text);
            assert_eq!(String::from_utf8(html.into_bytes()).unwrap(), expect, "{text:?}");
        }
    }

    #[test]
    fn an_overlong_line_is_plain_text() {
        let text = "[".repeat(super::LONGEST + 1);
        let mut html = Html::default();
        write(&mut html, &text);
        assert_eq!(String::from_utf8(html.into_bytes()).unwrap(), format!("<p>{text}</p>"));
    }
}
