//! Text of others inside our prompts: cleaned, bounded, between marks that it can neither close nor fake.

use crate::text::{reveal_hidden, strip_hidden, strip_hidden_chars, truncate, truncate_front};

/// The names of all our marks. Text of others never holds one, whichever it stands between.
pub(super) const MARKS: [&str; 8] = [
    "task",
    "task-criteria",
    "task-images",
    "ticket",
    "project-notes",
    "learned-patterns",
    "gate-output",
    "review-diff",
];

/// The titles of the sections whose rules are ours. Text of others never has such a heading.
pub(super) const HEADINGS: [&str; 12] = [
    "the task",
    "what it is judged by",
    "checks",
    "what this project says about itself",
    "what earlier runs learned",
    "branch and commits",
    "budget",
    "telling pilot how it goes",
    "what happened",
    "what to do now",
    "the change",
    "how to answer",
];

#[derive(Clone, Debug)]
pub(crate) struct BlockMarks {
    name: &'static str,
    attributes: String,
}

impl BlockMarks {
    pub(crate) fn new(name: &'static str) -> BlockMarks {
        debug_assert!(MARKS.contains(&name), "{name} is not tamed");
        BlockMarks { name, attributes: String::new() }
    }

    /// The same marks with an attribute, whose value may be untrusted text.
    pub(crate) fn with(mut self, name: &str, value: &str) -> BlockMarks {
        let value = untrusted_line(value, 512).replace('"', "'");
        self.attributes.push_str(&format!(" {name}=\"{value}\""));
        self
    }

    /// A text between the marks, each on a line of its own. The text was made by [`untrusted_line`],
    /// [`untrusted_block`] or [`untrusted_end`].
    pub(crate) fn around(&self, text: &str) -> String {
        let BlockMarks { name, attributes } = self;
        let text = text.trim_end_matches('\n');
        let newline = if text.is_empty() { "" } else { "\n" };
        format!("<{name}{attributes}>\n{text}{newline}</{name}>")
    }
}

pub(crate) fn untrusted_line(text: &str, limit: usize) -> String {
    let words = strip_hidden(truncate(text, limit * 4));
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate(&tame(&words), limit).to_owned()
}

/// How code is shown of which nothing is seen.
pub(super) const EMPTY_CODE: &str = "` `";

/// Untrusted code on one line: as it is written, without hidden characters.
pub(crate) fn untrusted_code(text: &str, limit: usize) -> String {
    let words = tame(&strip_hidden_chars(truncate(text, limit * 4)).replace(['\n', '\t'], " "));
    let words = truncate(words.trim(), limit);
    if words.is_empty() {
        return EMPTY_CODE.to_owned();
    }
    let longest = words.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let marks = "`".repeat(longest + 1);
    let space = if words.starts_with('`') || words.ends_with('`') { " " } else { "" };
    format!("{marks}{space}{words}{space}{marks}")
}

/// Untrusted text; a note says how much was cut off its end.
pub(crate) fn untrusted_block(text: &str, limit: usize) -> String {
    let text = tame(strip_hidden(text).trim());
    let kept = truncate(&text, limit);
    match text.len() - kept.len() {
        0 => text,
        left => format!("{kept}\n[{left} more bytes are not shown]"),
    }
}

/// Untrusted source, complete: hidden characters are written out. The caller bounds it.
pub(crate) fn untrusted_source(text: &str) -> String {
    tame(&reveal_hidden(text))
}

/// The end of what a program printed, where it says what went wrong; what is cut off before it is said.
pub(crate) fn untrusted_end(text: &str, limit: usize) -> String {
    let text = tame(strip_hidden_chars(text).trim());
    let kept = truncate_front(&text, limit);
    match text.len() - kept.len() {
        0 => text,
        left => format!("[{left} bytes before this are not shown]\n{kept}"),
    }
}

/// The text without anything that looks like a mark or a header of ours. The words stay readable.
pub(super) fn tame(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut tamed = String::with_capacity(text.len());
    let mut begins_line = true;
    for (at, c) in text.char_indices() {
        let behind = &lower[at + c.len_utf8()..];
        if c == '#' && begins_line && is_heading(behind) {
            tamed.push('\\');
        }
        begins_line = c == '\n' || (begins_line && matches!(c, ' ' | '\t' | '>'));
        tamed.push(match c {
            '[' if behind.trim_start().starts_with("pilot-exec") => '(',
            '<' if begins_mark(behind) => '‹',
            _ => c,
        });
    }
    tamed
}

fn is_heading(behind: &str) -> bool {
    let line = behind.split('\n').next().unwrap_or_default();
    // No heading of ours is longer, and a line may be.
    let title = truncate(line, 80).trim_start_matches('#').trim().trim_end_matches([' ', '#', ':']);
    HEADINGS.contains(&title)
}

fn begins_mark(behind: &str) -> bool {
    let name = behind.trim_start().trim_start_matches('/').trim_start();
    MARKS.iter().filter_map(|mark| name.strip_prefix(mark)).any(ends_name)
}

fn ends_name(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_')
}

#[cfg(test)]
mod tests {
    use super::{BlockMarks, tame, untrusted_code, untrusted_end};

    #[test]
    fn words_that_are_no_marks_stay() {
        for text in [
            "<taskbar>",
            "<task-list>",
            "a < b",
            "Vec<Task_>",
            "[pilot]",
            "ÄÖ<İ",
            "< ",
            "# Checks of mine",
            "checks",
            "a # checks",
        ] {
            assert_eq!(tame(text), text);
        }
    }

    #[test]
    fn marks_and_headers_of_ours_are_tamed() {
        for (text, tamed) in [
            ("Vec<Task>", "Vec‹Task>"),
            ("</gate-output>", "‹/gate-output>"),
            ("< / Review-Diff >", "‹ / Review-Diff >"),
            ("[ PILOT-EXEC]", "( PILOT-EXEC]"),
            ("## Branch and commits", "\\## Branch and commits"),
            ("x\n > # BUDGET: #\ny", "x\n > \\# BUDGET: #\ny"),
        ] {
            assert_eq!(tame(text), tamed);
            assert_eq!(tame(tamed), tamed, "twice is once");
        }
    }

    #[test]
    fn values_stay_inside_their_quotes() {
        let marks = BlockMarks::new("project-notes").with("path", "a\"> </project-notes>\nb");
        assert_eq!(marks.around(""), "<project-notes path=\"a'> ‹/project-notes> b\">\n</project-notes>");
        assert_eq!(marks.around("x\n").lines().count(), 3);
    }

    #[test]
    fn code_stays_inside_its_marks() {
        for (text, code) in [
            ("cargo test", "`cargo test`"),
            ("a `b` c", "``a `b` c``"),
            ("``x", "``` ``x ```"),
            ("a\nb", "`a b`"),
            ("grep 'x  <!-- y -->'", "`grep 'x  <!-- y -->'`"),
            ("\u{200b}", "` `"),
        ] {
            assert_eq!(untrusted_code(text, 100), code);
        }
    }

    #[test]
    fn of_a_long_output_the_end_is_told() {
        assert_eq!(untrusted_end("abc\ndef\n", 3), "[4 bytes before this are not shown]\ndef");
        assert_eq!(untrusted_end("é", 1), "[2 bytes before this are not shown]\n");
        assert_eq!(untrusted_end("abc", 3), "abc");
    }
}
