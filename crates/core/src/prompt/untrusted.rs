//! Text of others inside our prompts: cleaned, bounded, between marks that it can neither close nor fake.

use super::clean::clean;
use crate::outcome::cut;

/// The names of all our marks. Text of others never holds one, whichever it stands between.
const NAMES: [&str; 2] = ["task", "ticket"];

/// The pair of marks around somebody's text.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    name: &'static str,
    attributes: String,
}

impl Marks {
    /// Marks of a name from [`NAMES`].
    pub(crate) fn new(name: &'static str) -> Marks {
        debug_assert!(NAMES.contains(&name), "{name} is not tamed");
        Marks { name, attributes: String::new() }
    }

    /// The same marks with an attribute, whose value may be somebody's text.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Marks {
        let value = untrusted_line(value, 512).replace('"', "'");
        self.attributes.push_str(&format!(" {name}=\"{value}\""));
        self
    }

    pub(crate) fn open(&self) -> String {
        format!("<{}{}>", self.name, self.attributes)
    }

    pub(crate) fn close(&self) -> String {
        format!("</{}>", self.name)
    }

    /// A text between the marks, each on a line of its own. The text was made by [`untrusted_line`] or
    /// [`untrusted_block`].
    pub(crate) fn around(&self, text: &str) -> String {
        let text = text.trim_end_matches('\n');
        let newline = if text.is_empty() { "" } else { "\n" };
        format!("{}\n{text}{newline}{}", self.open(), self.close())
    }
}

/// Somebody's words on one line.
pub(crate) fn untrusted_line(text: &str, limit: usize) -> String {
    let words = clean(cut(text, limit * 4));
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&tame(&words), limit).to_owned()
}

/// Somebody's text; what is cut off at its end is said.
pub(crate) fn untrusted_block(text: &str, limit: usize) -> String {
    let text = tame(clean(text).trim());
    let kept = cut(&text, limit);
    match text.len() - kept.len() {
        0 => text,
        left => format!("{kept}\n[{left} more bytes are not shown]"),
    }
}

/// The text without anything that looks like a mark or a header of ours. The words stay readable.
fn tame(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut tamed = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let behind = &lower[at + c.len_utf8()..];
        tamed.push(match c {
            '[' if behind.trim_start().starts_with("pilot-exec") => '(',
            '<' if begins_mark(behind) => '‹',
            _ => c,
        });
    }
    tamed
}

fn begins_mark(behind: &str) -> bool {
    let name = behind.trim_start().trim_start_matches('/').trim_start();
    NAMES.iter().filter_map(|mark| name.strip_prefix(mark)).any(ends_name)
}

fn ends_name(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_')
}

#[cfg(test)]
mod tests {
    use super::tame;

    #[test]
    fn words_that_are_no_marks_stay() {
        for text in ["<taskbar>", "<task-list>", "a < b", "Vec<Task_>", "[pilot]", "ÄÖ<İ", "< "] {
            assert_eq!(tame(text), text);
        }
        assert_eq!(tame("Vec<Task>"), "Vec‹Task>");
        assert_eq!(tame("[ PILOT-EXEC]"), "( PILOT-EXEC]");
    }
}
