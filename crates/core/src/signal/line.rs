//! What a single line can be: a fence, a rule, a title, a banner, a v3 mark, a list item.
//!
//! Every function here looks at one line without its line ending and knows nothing of the lines around it.

use memchr::memchr_iter;

use super::event::{Kind, Protocol, Signal, Span};
use super::json;
use super::look::{find, looked, memchr};
use super::tag::{self, MarkName};
use crate::phase::Phase;

/// The start of a v3 mark.
pub(super) const V3_PREFIX: &[u8] = b"nav-signal:v3:";
const V2_WORD: &[u8] = b"pilot-signal";
/// Fewer characters are no rule.
const RULE_LENGTH: usize = 10;
const RULE_CHARACTERS: [&str; 6] = ["━", "─", "═", "=", "-", "*"];
/// What may stand around a banner besides white space.
const VERTICALS: [char; 9] = ['│', '┃', '║', '╎', '╏', '┆', '┇', '┊', '┋'];

/// The columns and bytes of white space a line starts with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Indent {
    pub(super) columns: usize,
    pub(super) bytes: usize,
}

impl Indent {
    pub(super) fn of(line: &[u8]) -> Indent {
        Indent::default().and(line)
    }

    /// The indentation of `line[self.bytes..]` added to this one, tab stops every four columns.
    fn and(self, line: &[u8]) -> Indent {
        let mut indent = self;
        for byte in &line[self.bytes..] {
            match byte {
                b' ' => indent.columns += 1,
                b'\t' => indent.columns += 4 - indent.columns % 4,
                _ => break,
            }
            indent.bytes += 1;
        }
        indent
    }
}

pub(super) fn is_blank(line: &[u8]) -> bool {
    let text = line.iter().position(|byte| !byte.is_ascii_whitespace());
    looked(text.unwrap_or(line.len()));
    text.is_none()
}

/// Lines of nothing but text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PlainLines {
    /// How many bytes they are, line feeds included.
    pub(super) bytes: usize,
    /// Whether all of them are empty.
    pub(super) empty: bool,
}

/// The first lines that are nothing but text, of bytes without openers: no mark, fence, list, quote or rule can start them.
/// Up to a line that is indented, or whose end has not come.
pub(super) fn plain_lines(lines: &[u8]) -> PlainLines {
    let mut plain = PlainLines { bytes: 0, empty: true };
    let mut newlines = memchr_iter(b'\n', lines);
    while !may_be_more_than_text(&lines[plain.bytes..])
        && let Some(newline) = newlines.next()
    {
        plain.empty &= newline == plain.bytes;
        plain.bytes = newline + 1;
    }
    looked(plain.bytes);
    plain
}

/// Where the first comment or tag of ours may start.
pub(super) fn opener(text: &[u8]) -> Option<usize> {
    let found = memchr_iter(b'<', text).find(|at| is_opener(&text[*at..]));
    looked(found.unwrap_or(text.len()));
    found
}

/// Whether the first bytes of a line leave it open what the line is.
fn may_be_more_than_text(line: &[u8]) -> bool {
    match line {
        // `nav-signal`, `NAVIGATOR_STATUS`, the banners, rules and what may stand around banners.
        [b'n', b'a', ..] | [b'N', b'A' | b'a', ..] | [0xe2, 0x94 | 0x95, ..] => true,
        [b'P', b'H', ..] | [b'E', b'X', ..] | [b'L', b'O', ..] | [b'T', b'A', ..] => true,
        [b'S', b'T', ..] | [b'W', b'O', ..] => true,
        [b' ' | b'\t' | b'\r' | b'>' | b'`' | b'~' | b'-' | b'+' | b'0'..=b'9' | b'=' | b'*' | b'#', ..] => {
            true
        }
        _ => false,
    }
}

/// Whether a comment or a tag of ours may start here.
pub(super) fn is_opener(text: &[u8]) -> bool {
    text.starts_with(tag::PREFIX) || text.starts_with(b"<!--")
}

/// A line that opens a fence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FenceLine {
    character: u8,
    length: usize,
    /// Whether its info string makes it a v2 mark.
    pub(super) is_v2: bool,
}

impl FenceLine {
    /// Reads a line without its indentation.
    pub(super) fn open(text: &[u8]) -> Option<FenceLine> {
        let (character, length) = fence_run(text)?;
        let info = text[length..].trim_ascii();
        if character == b'`' && memchr(b'`', info).is_some() {
            return None;
        }
        let first = info.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        Some(FenceLine { character, length, is_v2: first == V2_WORD })
    }

    /// The length of the closing run when `text`, without its indentation, closes this fence.
    pub(super) fn closing(self, text: &[u8]) -> Option<usize> {
        let length = text.iter().take_while(|byte| **byte == self.character).count();
        (length >= self.length && is_blank(&text[length..])).then_some(length)
    }
}

fn fence_run(text: &[u8]) -> Option<(u8, usize)> {
    let character = *text.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = text.iter().take_while(|byte| **byte == character).count();
    (length >= 3).then_some((character, length))
}

/// The body of a v2 mark that stands whole on its line: fence, `pilot-signal`, JSON, fence.
pub(super) fn one_line_v2(text: &[u8]) -> Option<&[u8]> {
    let (character, length) = fence_run(text)?;
    let rest = text[length..].trim_ascii().strip_prefix(V2_WORD)?;
    let closing = rest.iter().rev().take_while(|byte| **byte == character).count();
    let body = &rest[..rest.len() - closing];
    if closing < length || !body.first()?.is_ascii_whitespace() || is_blank(body) {
        return None;
    }
    // A fence run in between ends a code span there, unless it stands in a JSON string.
    let run = vec![character; length];
    let whole = find(body, &run).is_none() || json::objects(body).is_some();
    whole.then(|| body.trim_ascii())
}

/// Ten or more of one rule character.
pub(super) fn is_rule(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    RULE_CHARACTERS.iter().any(|rule| {
        text.len() >= RULE_LENGTH * rule.len() && text.chunks(rule.len()).all(|part| part == rule.as_bytes())
    })
}

/// `NAVIGATOR_STATUS` with nothing but heading marks, asterisks and blanks around it.
pub(super) fn is_title(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let text = skip(text, b'#').trim_ascii_start();
    let Some(behind) = skip(text, b'*').strip_prefix(b"NAVIGATOR_STATUS") else { return false };
    let behind = skip(behind, b'*').trim_ascii();
    skip(behind, b'#').is_empty()
}

fn skip(text: &[u8], byte: u8) -> &[u8] {
    &text[text.iter().take_while(|here| **here == byte).count()..]
}

/// The signal of a whole-line banner.
pub(super) fn banner(line: &[u8], span: Span) -> Option<Signal> {
    let line = line.trim_ascii();
    let first = *line.first()?;
    // Lines that cannot be banners leave here: nearly all of them.
    if !matches!(first, b'P' | b'E' | b'L' | b'T' | b'S' | b'N' | b'W' | 0xe2) {
        return None;
    }
    let text = std::str::from_utf8(line).ok()?;
    let text = text.trim_matches(|char: char| char.is_ascii_whitespace() || VERTICALS.contains(&char));
    let signal = |kind| Signal::new(Protocol::Legacy, kind, span);
    match text {
        "EXIT_SIGNAL: true" | "LOOP COMPLETE" | "TASK MODE COMPLETE" => {
            Some(Signal { exit_signal: Some(true), ..signal(Kind::Exit) })
        }
        "STAGNATION DETECTED" => Some(signal(Kind::Stagnation)),
        "Navigator Session Started" | "TASK MODE ACTIVATED" | "WORKFLOW CHECK" => {
            Some(Signal { message: Some(text.to_owned()), ..signal(Kind::Marker) })
        }
        _ => {
            let phase = phase_change(text.strip_prefix("PHASE:")?)?;
            Some(Signal { phase: Some(Phase::parse(phase)), ..signal(Kind::Phase) })
        }
    }
}

/// The target of `A → B`, when it is one word.
fn phase_change(text: &str) -> Option<&str> {
    let (from, to) = match (text.split_once('→'), text.split_once("->")) {
        (Some(one), Some(other)) if other.0.len() < one.0.len() => other,
        (Some(one), _) => one,
        (None, other) => other?,
    };
    let to = to.trim();
    let is_word = !to.is_empty() && to.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    // A longer arrow is none of ours.
    (is_word && !from.ends_with(['-', '='])).then_some(to)
}

/// Whether a line is the legacy dialect's way to say a thing at all.
pub(super) fn is_legacy(line: &[u8]) -> bool {
    is_title(line) || banner(line, Span { start: 0, end: 0 }).is_some()
}

/// Whether a line is a v3 mark, bare or behind a comment opener.
pub(super) fn is_v3(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let line = line.strip_prefix(b"<!--").map_or(line, <[u8]>::trim_ascii_start);
    line.starts_with(V3_PREFIX)
}

/// Where the first tag with a known name stands in a piece of text.
pub(super) fn known_tag(text: &[u8]) -> Option<(usize, MarkName)> {
    // Most lines have no `<`, and a searcher for the whole prefix takes longer to build than such a line to pass.
    let found = memchr_iter(b'<', text).find_map(|at| {
        let behind = text[at..].strip_prefix(tag::PREFIX)?;
        Some((at, MarkName::parse(tag::word(behind))?))
    });
    looked(found.map_or(text.len(), |(at, _)| at));
    found
}

/// A list mark at the start of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ListItem {
    /// The column at which its content starts.
    pub(super) column: usize,
    /// Where the text behind the mark starts, which may be further in.
    pub(super) content: Indent,
}

/// The list mark at `indent` of a line, if there is one.
pub(super) fn list_item(line: &[u8], indent: Indent) -> Option<ListItem> {
    let text = &line[indent.bytes..];
    let mark = match text.first()? {
        b'-' | b'+' | b'*' => 1,
        b'0'..=b'9' => {
            let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let delimited = matches!(text.get(digits), Some(b'.' | b')'));
            (digits <= 9 && delimited).then_some(digits + 1)?
        }
        _ => return None,
    };
    if !text.get(mark).is_none_or(u8::is_ascii_whitespace) || is_thematic_break(text) {
        return None;
    }
    let behind = Indent { columns: indent.columns + mark, bytes: indent.bytes + mark };
    let content = behind.and(line);
    // Five blanks or more are one blank and indented code; a bare mark counts one blank too.
    let far = content.columns > behind.columns + 4 || content.bytes >= line.len();
    let column = if far { behind.columns + 1 } else { content.columns };
    Some(ListItem { column, content })
}

fn is_thematic_break(text: &[u8]) -> bool {
    let mark = text[0];
    matches!(mark, b'-' | b'*')
        && text.iter().all(|byte| *byte == mark || byte.is_ascii_whitespace())
        && text.iter().filter(|byte| **byte == mark).count() >= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_open_and_close_as_in_common_mark() {
        let open = |text: &str| FenceLine::open(text.as_bytes());
        assert!(open("```").is_some_and(|fence| !fence.is_v2));
        assert!(open("~~~~ pilot-signal json").is_some_and(|fence| fence.is_v2));
        assert!(open("``` a`b").is_none());
        assert!(open("~~~ a`b").is_some());
        assert!(open("``").is_none());
        let fence = open("````").expect("a fence");
        let closing = |text: &str| fence.closing(text.as_bytes());
        assert_eq!(closing("````"), Some(4));
        assert_eq!(closing("`````  "), Some(5));
        assert_eq!(closing("```"), None);
        assert_eq!(closing("```` x"), None);
        assert_eq!(closing("~~~~"), None);
    }

    #[test]
    fn the_one_line_form_owns_its_line() {
        let body =
            |text: &str| one_line_v2(text.as_bytes()).map(|body| String::from_utf8_lossy(body).into_owned());
        assert_eq!(body("```pilot-signal {\"a\":1} ```").as_deref(), Some("{\"a\":1}"));
        assert_eq!(body("~~~pilot-signal {\"a\":1}~~~").as_deref(), Some("{\"a\":1}"));
        assert_eq!(body("```pilot-signal {broken} ```").as_deref(), Some("{broken}"));
        assert_eq!(body("```pilot-signal {\"a\":\"```\"} ```").as_deref(), Some("{\"a\":\"```\"}"));
        for none in [
            "```pilot-signal",
            "```pilot-signal ```",
            "``` pilot-signal```",
            "```pilot-signal{} ```",
            "```pilot-signals {} ```",
            "````pilot-signal {} ```",
            "```pilot-signal {} ``` and ```pilot-signal {} ```",
            "```pilot-signal {} ``` is it",
        ] {
            assert_eq!(body(none), None, "{none}");
        }
    }

    #[test]
    fn banners_are_whole_lines() {
        let span = Span { start: 0, end: 1 };
        let kind = |text: &str| banner(text.as_bytes(), span).map(|signal| signal.kind);
        assert_eq!(kind("  LOOP COMPLETE \r"), Some(Kind::Exit));
        assert_eq!(kind("│ TASK MODE ACTIVATED ┃"), Some(Kind::Marker));
        assert_eq!(kind("PHASE: -> IMPL"), Some(Kind::Phase));
        assert_eq!(kind("PHASE: A→B"), Some(Kind::Phase));
        for none in [
            "| LOOP COMPLETE |",
            "LOOP  COMPLETE",
            "PHASE: A → B C",
            "PHASE: A --> B",
            "PHASE: A → B → C",
            "PHASE: A => B",
            "PHASE: A →",
            "EXIT_SIGNAL: true.",
        ] {
            assert_eq!(kind(none), None, "{none}");
        }
    }

    #[test]
    fn rules_are_ten_of_one_kind() {
        assert!(is_rule("━━━━━━━━━━".as_bytes()));
        assert!(is_rule(b"  ==========\r"));
        for none in ["=========", "=====-----", "━━━━━━━━━", "", "==========x", "_________________"]
        {
            assert!(!is_rule(none.as_bytes()), "{none}");
        }
    }

    #[test]
    fn a_plain_line_is_nothing_but_text() {
        let plain = |lines: &str| {
            let lines = lines.as_bytes();
            plain_lines(&lines[..opener(lines).unwrap_or(lines.len())])
        };
        for (lines, bytes, empty) in [
            ("\nx", 1, true),
            ("so a < b\nx", 9, false),
            ("Note: Tests pass.\n\n", 19, false),
            ("\n\n— so\n- x\nso\n", 9, false),
            ("so\nso <!-- far\n", 3, false),
            ("so far", 0, true),
            ("", 0, true),
        ] {
            assert_eq!(plain(lines), PlainLines { bytes, empty }, "{lines:?}");
        }
        for more in [
            "nav-signal:v3:{}",
            "NAVIGATOR_STATUS",
            "# NAVIGATOR_STATUS",
            "**NAVIGATOR_STATUS**",
            "EXIT_SIGNAL: true",
            "LOOP COMPLETE",
            "TASK MODE COMPLETE",
            "STAGNATION DETECTED",
            "Navigator Session Started",
            "WORKFLOW CHECK",
            "PHASE: A -> B",
            "│ LOOP COMPLETE │",
            "║ LOOP COMPLETE ║",
            "━━━━━━━━━━",
            "═══",
            "===",
            "---",
            "- a",
            "+ a",
            "1. a",
            "> a",
            "```",
            "~~~",
            " a",
            "\ta",
            "\r",
            "a <pilot:skip/>",
            "a <!-- b",
        ] {
            assert_eq!(plain(&format!("{more}\n")).bytes, 0, "{more:?}");
        }
    }

    #[test]
    fn list_items_tell_where_their_content_starts() {
        let content =
            |line: &str| list_item(line.as_bytes(), Indent::of(line.as_bytes())).map(|item| item.column);
        assert_eq!(content("- a"), Some(2));
        assert_eq!(content("  10. a"), Some(6));
        assert_eq!(content("*\ta"), Some(4));
        assert_eq!(content("-      code"), Some(2));
        assert_eq!(content("-"), Some(2));
        for none in ["-a", "---", "* * *", "1a", "1234567890. a", "a"] {
            assert_eq!(content(none), None, "{none}");
        }
    }
}
