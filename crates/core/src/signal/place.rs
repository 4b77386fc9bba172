//! Places where marks do not count: other code fences, quotes, comments. Only what stands there is reported.

use super::event::{Code, Diagnostic, Protocol, Span};
use super::line::{self, FenceLine};

/// What was seen in one such place: at most one diagnostic a dialect, so that a long sample stays short.
#[derive(Debug)]
pub(super) struct PlaceRecord {
    code: Code,
    found: Vec<Diagnostic>,
}

impl PlaceRecord {
    pub(super) fn new(code: Code) -> PlaceRecord {
        PlaceRecord { code, found: Vec::new() }
    }

    /// Looks at a whole line, which starts at offset `at`.
    pub(super) fn line(&mut self, text: &[u8], at: u64) {
        let trimmed = text.trim_ascii_start();
        let Some(first) = trimmed.first() else { return };
        // Only these can start a line-sized mark.
        if matches!(first, b'`' | b'~' | b'n' | b'<' | b'#' | b'*' | b'A'..=b'Z' | 0xe2) {
            let protocol = if is_v2(trimmed) {
                Some(Protocol::V2)
            } else if line::is_v3(trimmed) {
                Some(Protocol::V3)
            } else {
                line::is_legacy(trimmed).then_some(Protocol::Legacy)
            };
            if let Some(protocol) = protocol {
                let indent = (text.len() - trimmed.len()) as u64;
                let span = Span { start: at + indent, end: at + text.trim_ascii_end().len() as u64 };
                self.note(protocol, String::from_utf8_lossy(&trimmed[..trimmed.len().min(40)]).trim(), span);
            }
        }
        self.tags(text, at);
    }

    /// Looks at text that is no whole line.
    pub(super) fn tags(&mut self, text: &[u8], at: u64) {
        if let Some((from, name)) = line::known_tag(text) {
            let start = at + from as u64;
            let span = Span { start, end: start + name.opening().len() as u64 };
            self.note(Protocol::Xml, name.as_str(), span);
        }
    }

    /// Looks at a quoted line, quote marks included.
    pub(super) fn quote(&mut self, text: &[u8], at: u64) {
        let marks = text.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b'>').count();
        self.line(&text[marks..], at + marks as u64);
    }

    pub(super) fn into_found(self) -> Vec<Diagnostic> {
        self.found
    }

    fn note(&mut self, protocol: Protocol, detail: &str, span: Span) {
        if self.found.iter().all(|seen| seen.protocol != protocol) {
            self.found.push(Diagnostic { code: self.code, protocol, detail: detail.to_owned(), span });
        }
    }
}

fn is_v2(line: &[u8]) -> bool {
    FenceLine::open(line).is_some_and(|fence| fence.is_v2) || line::one_line_v2(line).is_some()
}
