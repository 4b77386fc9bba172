//! Untrusted text for a terminal: characters that could move the cursor, ring or hide something are removed.

use std::borrow::Cow;

/// The text with its lines and tabs, and without any other control character.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    let bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_direction(c);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| !bad(*c)).collect())
}

/// The text as one line of at most so many characters; a `…` shows that some was cut off.
pub(crate) fn line(text: &str, width: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !is_direction(*c)));
        if line.len() > 4 * width {
            break;
        }
    }
    if line.chars().count() <= width {
        return line;
    }
    let mut cut: String = line.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// The words in lines of at most so many characters; a longer word has a line of its own.
pub(crate) fn fold(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// How many columns of a terminal the text takes, at most.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// How many columns a character takes, at most: those of East Asia and pictures take two.
pub(crate) fn width(c: char) -> usize {
    match c {
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// The columns and rows of the terminal that standard error is, or of a usual one.
pub(crate) fn terminal_size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
    let or = |told: Option<u16>, usual| told.filter(|told| *told > 0).map_or(usual, usize::from);
    (or(size.map(|size| size.ws_col), 80), or(size.map(|size| size.ws_row), 24))
}

/// Characters that turn the direction of what follows: with them a line can show something else than it holds.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{columns, line, text};

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        assert_eq!(text("a\tb\nc"), "a\tb\nc");
        assert_eq!(text("\u{1b}[31mred\u{7}\r\u{9b}\u{202e}x"), "[31mredx");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!((columns("naïve ✓"), columns("審查"), columns("🚀x")), (7, 4, 3));
    }

    #[test]
    fn a_line_is_one_line_and_as_long_as_it_may() {
        for (written, width, expect) in [
            ("Add  login\nnow", 20, "Add login now"),
            ("Add login", 9, "Add login"),
            ("Add login!", 9, "Add logi…"),
            ("äöüäöü", 4, "äöü…"),
            ("a\u{1b}[2Jb", 10, "a [2Jb"),
            ("", 5, ""),
        ] {
            assert_eq!(line(written, width), expect, "{written:?}");
        }
    }
}
