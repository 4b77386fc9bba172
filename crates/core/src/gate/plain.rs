//! Output of a program as plain text: what a terminal would obey is gone, what it would show stays.

use crate::text::strip_hidden_chars;
use std::borrow::Cow;

/// The text without escape sequences, control and hidden characters. Of a line that was written over and over, as progress
/// bars are, the last form stays.
pub(super) fn plain(text: &str) -> String {
    let text = without_escapes(text);
    let text: Cow<'_, str> = if text.contains('\r') { last_forms(&text).into() } else { text };
    strip_hidden_chars(&text)
}

fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains(['\u{1b}', '\u{9b}']) {
        return text.into();
    }
    let mut kept = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{9b}' => skip_control(&mut chars),
            '\u{1b}' => match chars.clone().next() {
                Some('[') => {
                    chars.next();
                    skip_control(&mut chars);
                }
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
                Some(' '..='/') => {
                    // Two characters, as in a choice of letters.
                    chars.next();
                    chars.next();
                }
                Some('0'..='~') => {
                    chars.next();
                }
                Some(_) | None => {}
            },
            _ => kept.push(c),
        }
    }
    kept.into()
}

/// Parameters, then one letter. What cannot belong to it is text again.
fn skip_control(chars: &mut std::str::Chars<'_>) {
    while let Some(c) = chars.clone().next() {
        if !matches!(c, ' '..='~') {
            return;
        }
        chars.next();
        if matches!(c, '@'..='~') {
            return;
        }
    }
}

/// A title or the like, up to its end, which is on the same line, or it is none.
fn skip_string(chars: &mut std::str::Chars<'_>) {
    let rest = chars.as_str();
    let line = rest.find('\n').unwrap_or(rest.len());
    let bell = rest[..line].find('\u{7}').map(|at| at + 1);
    let string_end = rest[..line].find("\u{1b}\\").map(|at| at + 2);
    let end = match (bell, string_end) {
        (Some(bell), Some(end)) => bell.min(end),
        (Some(end), None) | (None, Some(end)) => end,
        (None, None) => {
            chars.next();
            return;
        }
    };
    *chars = rest[end..].chars();
}

fn last_forms(text: &str) -> String {
    let last = |line: &str| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').find(|form| !form.is_empty()).unwrap_or_default().to_owned()
    };
    text.split('\n').map(last).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_a_terminal_would_obey_is_gone() {
        for (text, seen) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[1m\u{1b}[31merror\u{1b}[0m: x", "error: x"),
            ("\u{1b}[38;5;196mred\u{1b}[m", "red"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]no end\nnext", "no end\nnext"),
            ("\u{1b}(Bx\u{1b}=y", "xy"),
            ("\u{9b}31mx", "x"),
            ("\u{1b}[31", ""),
            ("\u{1b}[3\nx", "\nx"),
            ("\u{1b}", ""),
            ("a\r\nb\r\n", "a\nb\n"),
            ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
            ("a\u{8}b\u{200b}c\u{202e}d\0", "abcd"),
            ("<!-- stays -->", "<!-- stays -->"),
        ] {
            assert_eq!(plain(text), seen, "{text:?}");
        }
    }
}
