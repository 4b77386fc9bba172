//! Markdown as people write tickets in it, a line at a time: enough to tell a heading from an item from code.
//!
//! Not a renderer. Whatever is no heading, item or fence is text. Must never know what the lines are about.

/// A line and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line<'t> {
    /// Nothing.
    Blank,
    /// `## Title`.
    Heading {
        /// How many `#`.
        level: usize,
        /// The title, without its marks.
        text: &'t str,
    },
    /// `- [ ] item`.
    Checkbox {
        /// The item.
        text: &'t str,
    },
    /// `- item` or `1. item`.
    Item {
        /// Whether it is numbered.
        numbered: bool,
        /// The item.
        text: &'t str,
    },
    /// Anything else outside of code.
    Text(&'t str),
    /// The line that opens a fence of code.
    Open {
        /// What stands behind the marks: the language, as a rule.
        info: &'t str,
    },
    /// A line inside a fence of code, as it is.
    Code(&'t str),
    /// The line that closes it.
    Close,
}

/// The lines of a text. A fence that is never closed goes on to the end.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut fence: Option<Fence> = None;
    text.split('\n').map(move |line| {
        let trimmed = line.trim();
        match fence {
            Some(open) if open.closes(trimmed) => {
                fence = None;
                Line::Close
            }
            Some(_) => Line::Code(line),
            None => match Fence::opened(trimmed) {
                Some(open) => {
                    fence = Some(open);
                    Line::Open { info: trimmed[open.length..].trim() }
                }
                None => prose(trimmed),
            },
        }
    })
}

#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened(line: &str) -> Option<Fence> {
        let mark = line.chars().next().filter(|c| ['`', '~'].contains(c))?;
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        // ``` `a` ``` on one line is a code span.
        (length >= 3 && !(mark == '`' && rest.contains('`'))).then_some(Fence { mark, length })
    }

    fn closes(self, line: &str) -> bool {
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

fn prose(line: &str) -> Line<'_> {
    if line.is_empty() {
        return Line::Blank;
    }
    heading(line).or_else(|| item(line)).unwrap_or(Line::Text(line))
}

fn heading(line: &str) -> Option<Line<'_>> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_one = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is_one.then(|| Line::Heading { level, text: rest.trim().trim_end_matches('#').trim_end() })
}

fn item(line: &str) -> Option<Line<'_>> {
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
        Some(text) => Some(Line::Checkbox { text: text.trim_start() }),
        None => Some(Line::Item { numbered, text }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, lines};

    #[test]
    fn lines_are_told_apart() {
        for (text, line) in [
            ("", Line::Blank),
            ("  \t", Line::Blank),
            ("# A", Line::Heading { level: 1, text: "A" }),
            ("  ### A b ##", Line::Heading { level: 3, text: "A b" }),
            ("##", Line::Heading { level: 2, text: "" }),
            ("#no", Line::Text("#no")),
            ("####### seven", Line::Text("####### seven")),
            ("- [ ] a", Line::Checkbox { text: "a" }),
            ("* [X] a", Line::Checkbox { text: "a" }),
            ("1. [x] a", Line::Checkbox { text: "a" }),
            ("- [y] a", Line::Item { numbered: false, text: "[y] a" }),
            ("- [ ]", Line::Checkbox { text: "" }),
            ("- [ ](x)", Line::Item { numbered: false, text: "[ ](x)" }),
            ("+ a", Line::Item { numbered: false, text: "a" }),
            ("• a", Line::Item { numbered: false, text: "a" }),
            ("12) a", Line::Item { numbered: true, text: "a" }),
            ("2026. a", Line::Item { numbered: true, text: "a" }),
            ("20261. a", Line::Text("20261. a")),
            ("-5 degrees", Line::Text("-5 degrees")),
            ("1.5 times", Line::Text("1.5 times")),
            ("---", Line::Text("---")),
        ] {
            assert_eq!(lines(text).collect::<Vec<_>>(), [line], "{text:?}");
        }
    }

    #[test]
    fn code_is_no_prose() {
        let kinds = |text: &'static str| lines(text).collect::<Vec<_>>();
        use Line::{Close, Code, Open, Text};
        assert_eq!(kinds("```rust\n# no\n```\nx"), [Open { info: "rust" }, Code("# no"), Close, Text("x")]);
        assert_eq!(kinds("````\n```\n````"), [Open { info: "" }, Code("```"), Close]);
        assert_eq!(kinds("~~~\n```\n~~~~"), [Open { info: "" }, Code("```"), Close]);
        assert_eq!(kinds("  ```\n- a"), [Open { info: "" }, Code("- a")]);
        assert_eq!(kinds("``` `a` ```"), [Text("``` `a` ```")]);
        assert_eq!(kinds("``"), [Text("``")]);
    }
}
