//! Text from outside that is quoted in what Pilot writes on a forge.

use crate::markdown::{self, MarkdownLine};
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

/// A text on one line that is shown as it reads: it makes no link, image or element, and mentions no one. Code spans stay.
pub(crate) fn inert_markdown(text: &str, limit: usize) -> String {
    let line = inert_line(text, limit);
    let pieces: Vec<&str> = line.split('`').collect();
    // An odd mark begins a span that nothing ends.
    let spans = pieces.len() % 2 == 1;
    let mut out = String::with_capacity(line.len());
    for (place, piece) in pieces.iter().enumerate() {
        if place > 0 {
            out.push_str(if spans { "`" } else { "\\`" });
        }
        let is_code = spans && place % 2 == 1;
        // A comment in a text of ours could be taken for a marker, in code too.
        let piece = piece.replace("<!--", "<!\u{200b}--");
        if is_code {
            out.push_str(&piece);
            continue;
        }
        for c in piece.chars() {
            match c {
                '<' => out.push_str("&lt;"),
                '[' => out.push_str("\\["),
                '@' => out.push_str("@\u{200b}"),
                _ => out.push(c),
            }
        }
    }
    out
}

/// A text of several lines as a Markdown quotation: bounded, inert, without its headings' size and its blocks of code.
pub(crate) fn quoted(text: &str, limit: usize) -> String {
    let text = strip_hidden(text);
    let mut lines: Vec<String> = Vec::new();
    let mut left = limit;
    for line in markdown::lines(&text) {
        let (mark, words) = match line {
            MarkdownLine::Blank => ("", ""),
            MarkdownLine::Heading { text, .. } | MarkdownLine::Text(text) => ("", text),
            MarkdownLine::Checkbox { text } | MarkdownLine::Item { text, .. } => ("- ", text),
            MarkdownLine::Open { .. } => ("", "(code left out)"),
            MarkdownLine::Code(_) | MarkdownLine::Close => continue,
        };
        if words.chars().all(|c| "-=*_ ".contains(c)) {
            if lines.last().is_some_and(|last| !last.is_empty()) {
                lines.push(String::new());
            }
            continue;
        }
        if words.len() > left {
            lines.push("…".to_owned());
            break;
        }
        left = left.saturating_sub(words.len() + 1);
        lines.push(format!("{mark}{}", inert_markdown(words.trim_start_matches(['#', '>', ' ']), limit)));
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.iter().map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect()
}

/// `fixes #3`, `Closes: GH-3`, `fixed owner/repo#3`, `(closes https://…)`.
fn closes(word: &str, next: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    let target = next.contains('#') || next.contains("://") || next.to_ascii_uppercase().contains("GH-");
    CLOSING.contains(&bare.as_str()) && target
}

#[cfg(test)]
mod tests {
    use super::{inert_line, inert_markdown, quoted};

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

    #[test]
    fn quoted_text_makes_nothing_but_text() {
        for (text, expect) in [
            ("plain `code<T>[0]` and *more*", "plain `code<T>[0]` and *more*"),
            ("![x](http://evil) <img> @team", "!\\[x](http://evil) &lt;img> @\u{200b}team"),
            ("an odd ` mark <b>", "an odd \\` mark &lt;b>"),
        ] {
            assert_eq!(inert_markdown(text, 200), expect, "{text:?}");
        }
        let message =
            "# Done\n\n\nI did:\n- [ ] one, closes #3\n2. two\n---\n```sh\nrm -rf\n```\n<!-- x -->bye\n\n";
        let expect =
            "> Done\n>\n> I did:\n> - one, c\u{200b}loses #3\n> - two\n>\n> (code left out)\n> bye\n";
        assert_eq!(quoted(message, 1000), expect);
        assert_eq!(quoted("one\ntwo three", 6), "> one\n> …\n");
        assert_eq!(quoted(" \n", 100), "");
    }
}
