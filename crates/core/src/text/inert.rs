//! Text from outside that is quoted in what Pilot writes on a forge.

use crate::text::{strip_hidden, truncate};

/// The words that close an issue on a forge when an issue number follows.
const CLOSING: [&str; 9] =
    ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];

/// A text on one line, without hidden characters, at most `limit` bytes, and unable to close an issue: a zero-width space
/// splits the closing word.
pub(crate) fn inert_line(text: &str, limit: usize) -> String {
    let text = strip_hidden(truncate(text, limit.saturating_mul(4)));
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = String::with_capacity(text.len());
    for (place, word) in words.iter().enumerate() {
        if place > 0 {
            line.push(' ');
        }
        let next = words.get(place + 1).copied().unwrap_or_default();
        if closes(word, next) {
            let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
            line.push_str(first);
            line.push('\u{200b}');
            line.push_str(rest);
        } else {
            line.push_str(word);
        }
    }
    truncate(&line, limit).to_owned()
}

/// `fixes #3`, `Closes: GH-3`, `fixed owner/repo#3`, `(closes https://…)`.
fn closes(word: &str, next: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    let target = next.contains('#') || next.contains("://") || next.to_ascii_uppercase().contains("GH-");
    CLOSING.contains(&bare.as_str()) && target
}

#[cfg(test)]
mod tests {
    use super::inert_line;

    #[test]
    fn quoted_text_closes_no_issue() {
        for (text, expect) in [
            ("Add login", "Add login"),
            ("This fixes #3", "This f\u{200b}ixes #3"),
            ("Closes: GH-3, and more", "C\u{200b}loses: GH-3, and more"),
            ("(resolved acme/app#3)", "(\u{200b}resolved acme/app#3)"),
            ("fix https://forge/issues/3", "f\u{200b}ix https://forge/issues/3"),
            ("fix the #hash", "fix the #hash"),
            ("a\nb\u{202e}c  d", "a bc d"),
        ] {
            assert_eq!(inert_line(text, 200), expect, "{text:?}");
        }
        assert_eq!(inert_line("äää", 3), "ä");
    }
}
