//! Somebody's words inside ours.

use crate::outcome::cut;
use crate::prompt::clean;

/// The words that close an issue on a forge when a number stands behind them.
const CLOSING: [&str; 9] =
    ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];

/// Somebody's words on one line, without hidden characters, at most so many bytes, and unable to close an issue: the closing
/// word gets a gap nobody sees.
pub fn defuse(text: &str, limit: usize) -> String {
    let text = clean(cut(text, limit.saturating_mul(4)));
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
    cut(&line, limit).to_owned()
}

/// `fixes #3`, `Closes: GH-3`, `fixed owner/repo#3`, `(closes https://…)`.
fn closes(word: &str, next: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    let target = next.contains('#') || next.contains("://") || next.to_ascii_uppercase().contains("GH-");
    CLOSING.contains(&bare.as_str()) && target
}

#[cfg(test)]
mod tests {
    use super::defuse;

    #[test]
    fn nobody_elses_words_close_an_issue() {
        for (text, expect) in [
            ("Add login", "Add login"),
            ("This fixes #3", "This f\u{200b}ixes #3"),
            ("Closes: GH-3, and more", "C\u{200b}loses: GH-3, and more"),
            ("(resolved acme/app#3)", "(\u{200b}resolved acme/app#3)"),
            ("fix https://forge/issues/3", "f\u{200b}ix https://forge/issues/3"),
            ("fix the #hash", "fix the #hash"),
            ("a\nb\u{202e}c  d", "a bc d"),
        ] {
            assert_eq!(defuse(text, 200), expect, "{text:?}");
        }
        assert_eq!(defuse("äää", 3), "ä");
    }
}
