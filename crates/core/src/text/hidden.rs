//! Text without what a reader of a rendered page would not see.

use std::borrow::Cow;
use std::str::Chars;

/// The text without hidden characters and HTML comments, with plain line ends.
///
/// A person approved what they saw; so what no page shows must not reach an agent. A comment that is never closed hides
/// the rest of a page when it begins a line, and is text elsewhere.
pub fn strip_hidden(text: &str) -> String {
    strip_comments(strip_hidden_chars(text))
}

/// The text without hidden characters, with plain line ends. Comments stay.
pub(crate) fn strip_hidden_chars(text: &str) -> String {
    let text: Cow<'_, str> =
        if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text.into() };
    let mut seen = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => rest = skip_escape(rest),
            '\u{2028}' | '\u{2029}' | '\u{85}' => seen.push('\n'),
            // Selects the colourful form of a symbol. Behind anything else it shows nothing, and could carry a message.
            '\u{fe0f}' if seen.ends_with(is_symbol) => seen.push(c),
            _ if is_hidden(c) => {}
            _ => seen.push(c),
        }
    }
    seen
}

/// The text with its hidden characters written out, as `⟨U+202E⟩`: a reviewer of source must see them.
pub(crate) fn reveal_hidden(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut seen = String::with_capacity(text.len());
    let mut before = '\n';
    for c in text.chars() {
        match c {
            '\u{fe0f}' if is_symbol(before) => seen.push(c),
            _ if is_hidden(c) => seen.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            _ => seen.push(c),
        }
        before = c;
    }
    seen
}

/// Skips the rest of a terminal escape sequence, such as `[31m`. Anything longer or other is no such sequence, and stays.
fn skip_escape(rest: Chars<'_>) -> Chars<'_> {
    let Some(sequence) = rest.as_str().strip_prefix('[') else { return rest };
    let parameters =
        sequence.len() - sequence.trim_start_matches(|c: char| c.is_ascii_digit() || ";:?".contains(c)).len();
    let is_sequence =
        parameters <= 24 && sequence[parameters..].starts_with(|c: char| c.is_ascii_alphabetic());
    if is_sequence { sequence[parameters + 1..].chars() } else { rest }
}

fn is_symbol(c: char) -> bool {
    !c.is_ascii() && !c.is_alphanumeric() && !is_hidden(c)
}

/// Whether a character changes how text reads without being seen itself: control, and what Unicode calls ignorable by
/// default.
pub(crate) fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        _ if c.is_control() => true,
        // Soft hyphen, joiners, zero width, direction marks and overrides, invisible operators, byte order mark.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{feff}' => true,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Blank letters, vowels that are not shown, variation selectors.
        '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' => true,
        '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' => true,
        // Annotations, shorthand and music controls, the block of tags.
        '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

fn strip_comments(text: String) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(rest.len());
    let mut from = 0;
    while let Some(at) = rest[from..].find("<!--").map(|at| from + at) {
        kept.push_str(&rest[from..at]);
        // `<!-->` is a whole comment.
        match rest[at + 2..].find("-->") {
            Some(length) => {
                from = at + 2 + length + 3;
                // The text before and after the comment must not join into another comment.
                let opening = ["<!-", "<!", "<"].into_iter().find(|begin| kept.ends_with(begin));
                if let Some(begin) = opening
                    && "<!--".starts_with(&format!(
                        "{begin}{}",
                        rest[from..].chars().take(4 - begin.len()).collect::<String>()
                    ))
                {
                    kept.truncate(kept.len() - begin.len());
                    rest = format!("{begin}{}", &rest[from..]);
                    from = 0;
                }
            }
            None if is_at_line_start(&kept) => return kept,
            None => {
                kept.push_str("<!--");
                from = at + 4;
            }
        }
    }
    kept.push_str(&rest[from..]);
    kept
}

fn is_at_line_start(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.bytes().all(|byte| byte == b' ' || byte == b'\t')
}

#[cfg(test)]
mod tests {
    use super::{reveal_hidden, strip_hidden, strip_hidden_chars};

    #[test]
    fn hidden_characters_and_comments_are_removed() {
        for (text, seen) in [
            ("plain é 🦀\n\tx", "plain é 🦀\n\tx"),
            ("a\r\nb\rc\u{2028}d", "a\nb\nc\nd"),
            ("a\u{200b}b\u{202e}c\u{2066}d\u{feff}e\u{ad}f", "abcdef"),
            ("x\u{e0041}\u{e0042}\u{e007f}y\u{e0100}z", "xyz"),
            ("\u{1b}[31mred\u{1b}[0m\u{7} \u{1b}[2K\u{1b}[x \u{1b}]0;t", "red  ]0;t"),
            ("\u{1b}[1234567890123456789012345m \u{1b}[", "[1234567890123456789012345m ["),
            ("❤\u{fe0f} ❤\u{fe00}", "❤\u{fe0f} ❤"),
            ("a\u{fe0f}b\u{fe0f}\u{fe0f}❤\u{fe0f}\u{fe0f}", "ab❤\u{fe0f}"),
            ("a\u{1bca0}b\u{1d173}c\u{fff3}d\u{180b}e\u{180f}f\u{85}g", "abcdef\ng"),
            ("a <!-- b --> c", "a  c"),
            ("a <!-- b\nc --> d <!----> e <!--> f <!---> g", "a  d  e  f  g"),
            ("a <!-\u{200b}- b --> c", "a  c"),
            ("a <!<!-- x -->-- b --> c", "a  c"),
            ("a <<!-- x -->!-- b --> c", "a  c"),
            ("a <!-<!-- x -->- b --> c", "a  c"),
            ("a <<!-- x --> c", "a < c"),
            ("code `<!--` stays", "code `<!--` stays"),
            ("a\n  <!-- hides the rest", "a\n  "),
            ("a <!-- is text\n<!-- b --> c", "a  c"),
            ("-->", "-->"),
        ] {
            assert_eq!(strip_hidden(text), seen, "{text:?}");
        }
    }

    #[test]
    fn hidden_characters_in_source_are_written_out() {
        let source = "+if \u{202e}admin\u{2066} { // ❤\u{fe0f} <!-- kept -->\r\n+\ta\u{200b}b\rc";
        assert_eq!(
            reveal_hidden(source),
            "+if ⟨U+202E⟩admin⟨U+2066⟩ { // ❤\u{fe0f} <!-- kept -->\n+\ta⟨U+200B⟩b⟨U+000D⟩c"
        );
        assert_eq!(strip_hidden_chars("10%\r20% <!-- kept -->\u{200b}"), "10%\n20% <!-- kept -->");
    }

    #[test]
    fn many_nested_comments_take_linear_time() {
        let nested = "<!<!-- x -->".repeat(20_000);
        assert!(!strip_hidden(&nested).contains("x"));
    }
}
