//! Markdown as people write tickets in it, a line at a time: enough to tell a heading from an item from code.
//!
//! Not a renderer. Whatever is no heading, item or fence is text. Must never know what the lines are about.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkdownLine<'t> {
    Blank,
    Heading {
        level: usize,
        /// The title, without its marks.
        text: &'t str,
    },
    /// `- [ ] item`.
    Checkbox {
        text: &'t str,
    },
    /// `- item` or `1. item`.
    Item {
        /// Whether it is numbered.
        numbered: bool,
        text: &'t str,
    },
    Text(&'t str),
    /// The line that opens a fence of code.
    Open {
        /// What stands behind the marks: the language, as a rule.
        info: &'t str,
    },
    /// A line inside a fence of code, as it is.
    Code(&'t str),
    Close,
}

pub(crate) fn lines(text: &str) -> impl Iterator<Item = MarkdownLine<'_>> {
    let mut fence: Option<MarkdownFence> = None;
    text.split('\n').map(move |line| {
        let trimmed = line.trim();
        match fence {
            Some(open) if open.closes(trimmed) => {
                fence = None;
                MarkdownLine::Close
            }
            Some(_) => MarkdownLine::Code(line),
            None => match MarkdownFence::opened(trimmed) {
                Some(open) => {
                    fence = Some(open);
                    MarkdownLine::Open { info: trimmed[open.length..].trim() }
                }
                None => prose(trimmed),
            },
        }
    })
}

#[derive(Clone, Copy)]
struct MarkdownFence {
    mark: char,
    length: usize,
}

impl MarkdownFence {
    fn opened(line: &str) -> Option<MarkdownFence> {
        let mark = line.chars().next().filter(|c| ['`', '~'].contains(c))?;
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        // ``` `a` ``` on one line is a code span.
        (length >= 3 && !(mark == '`' && rest.contains('`'))).then_some(MarkdownFence { mark, length })
    }

    fn closes(self, line: &str) -> bool {
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

fn prose(line: &str) -> MarkdownLine<'_> {
    if line.is_empty() {
        return MarkdownLine::Blank;
    }
    heading(line).or_else(|| item(line)).unwrap_or(MarkdownLine::Text(line))
}

fn heading(line: &str) -> Option<MarkdownLine<'_>> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_one = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is_one.then(|| MarkdownLine::Heading { level, text: rest.trim().trim_end_matches('#').trim_end() })
}

fn item(line: &str) -> Option<MarkdownLine<'_>> {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (numbered, rest) = match digits {
        0 => (false, line.strip_prefix(['-', '*', '+', '•'])?),
        1..=4 => (true, line[digits..].strip_prefix(['.', ')'])?),
        _ => return None,
    };
    let text = rest.strip_prefix([' ', '\t'])?.trim_start();
    let box_of =
        |mark| text.strip_prefix(mark).filter(|rest: &&str| rest.is_empty() || rest.starts_with(' '));
    match ["[ ]", "[x]", "[X]"].into_iter().find_map(box_of) {
        Some(text) => Some(MarkdownLine::Checkbox { text: text.trim_start() }),
        None => Some(MarkdownLine::Item { numbered, text }),
    }
}

#[cfg(test)]
mod tests {
    use super::{MarkdownLine, lines};

    #[test]
    fn lines_are_told_apart() {
        for (text, line) in [
            ("", MarkdownLine::Blank),
            ("  \t", MarkdownLine::Blank),
            ("# A", MarkdownLine::Heading { level: 1, text: "A" }),
            ("  ### A b ##", MarkdownLine::Heading { level: 3, text: "A b" }),
            ("##", MarkdownLine::Heading { level: 2, text: "" }),
            ("#no", MarkdownLine::Text("#no")),
            ("####### seven", MarkdownLine::Text("####### seven")),
            ("- [ ] a", MarkdownLine::Checkbox { text: "a" }),
            ("* [X] a", MarkdownLine::Checkbox { text: "a" }),
            ("1. [x] a", MarkdownLine::Checkbox { text: "a" }),
            ("- [y] a", MarkdownLine::Item { numbered: false, text: "[y] a" }),
            ("- [ ]", MarkdownLine::Checkbox { text: "" }),
            ("- [ ](x)", MarkdownLine::Item { numbered: false, text: "[ ](x)" }),
            ("+ a", MarkdownLine::Item { numbered: false, text: "a" }),
            ("• a", MarkdownLine::Item { numbered: false, text: "a" }),
            ("12) a", MarkdownLine::Item { numbered: true, text: "a" }),
            ("2026. a", MarkdownLine::Item { numbered: true, text: "a" }),
            ("20261. a", MarkdownLine::Text("20261. a")),
            ("-5 degrees", MarkdownLine::Text("-5 degrees")),
            ("1.5 times", MarkdownLine::Text("1.5 times")),
            ("---", MarkdownLine::Text("---")),
        ] {
            assert_eq!(lines(text).collect::<Vec<_>>(), [line], "{text:?}");
        }
    }

    #[test]
    fn code_is_no_prose() {
        let kinds = |text: &'static str| lines(text).collect::<Vec<_>>();
        use MarkdownLine::{Close, Code, Open, Text};
        assert_eq!(kinds("```rust\n# no\n```\nx"), [Open { info: "rust" }, Code("# no"), Close, Text("x")]);
        assert_eq!(kinds("````\n```\n````"), [Open { info: "" }, Code("```"), Close]);
        assert_eq!(kinds("~~~\n```\n~~~~"), [Open { info: "" }, Code("```"), Close]);
        assert_eq!(kinds("  ```\n- a"), [Open { info: "" }, Code("- a")]);
        assert_eq!(kinds("``` `a` ```"), [Text("``` `a` ```")]);
        assert_eq!(kinds("``"), [Text("``")]);
    }
}
