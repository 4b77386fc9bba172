//! Takes terminal escapes and a leading byte order mark out of a message, and remembers where they stood.
//!
//! Escapes may stand anywhere, even inside a tag. What is cut short, too long or no escape at all stays as text:
//! nothing may hide the rest of a message.

use memchr::memchr;

use super::event::Span;

const ESC: u8 = 0x1b;
const BOM: &[u8] = b"\xef\xbb\xbf";
/// A control sequence or string longer than this is text.
const ESCAPE_LIMIT: usize = 4096;
/// Gaps remembered at most; beyond, old ones are thinned out and spans among them become approximate.
const GAP_LIMIT: usize = 1 << 18;

/// The cleaning state of one message.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    state: CleanState,
    /// Bytes that may turn out to be an escape or a byte order mark.
    held: Vec<u8>,
    /// Clean bytes passed on so far.
    passed: u64,
    gaps: Vec<Gap>,
}

/// Bytes taken out right before a clean offset.
#[derive(Clone, Copy, Debug)]
struct Gap {
    before: u64,
    /// All bytes taken out up to here.
    total: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum CleanState {
    /// Before the first byte: a byte order mark may follow.
    #[default]
    Start,
    Text,
    Escape,
    /// `ESC (` and the like: one more byte.
    Charset,
    Control,
    /// `ESC ]` and the like: a string up to BEL or `ESC \`.
    String,
    StringEscape,
}

enum CleanStep {
    Hold(CleanState),
    /// The held bytes and this one are an escape.
    Remove,
    /// The held bytes are text; look at this byte again.
    Keep,
}

impl Cleaner {
    /// Passes the clean parts of `bytes` on, in order.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut sink: impl FnMut(&[u8])) {
        while let Some(&first) = bytes.first() {
            if self.state == CleanState::Text {
                let end = memchr(ESC, bytes).unwrap_or(bytes.len());
                if end > 0 {
                    self.pass(&bytes[..end], &mut sink);
                }
                if end < bytes.len() {
                    self.held.push(ESC);
                    self.state = CleanState::Escape;
                }
                bytes = &bytes[(end + 1).min(bytes.len())..];
                continue;
            }
            match self.step(first) {
                CleanStep::Hold(state) => {
                    self.held.push(first);
                    self.state = state;
                    bytes = &bytes[1..];
                }
                CleanStep::Remove => {
                    self.remove(self.held.len() as u64 + 1);
                    bytes = &bytes[1..];
                }
                CleanStep::Keep => self.keep(&mut sink),
            }
        }
    }

    /// The message is over: what is still held is text.
    pub(super) fn finish(&mut self, mut sink: impl FnMut(&[u8])) {
        self.keep(&mut sink);
    }

    /// Where a clean span stood in the message as it was pushed.
    pub(super) fn original(&self, clean: Span) -> Span {
        let start = self.original_offset(clean.start);
        let end = if clean.end > clean.start { self.original_offset(clean.end - 1) + 1 } else { start };
        Span { start, end }
    }

    /// Where a clean byte stood in the message as it was pushed.
    pub(super) fn original_offset(&self, clean: u64) -> u64 {
        match self.gaps.partition_point(|gap| gap.before <= clean) {
            0 => clean,
            n => clean + self.gaps[n - 1].total,
        }
    }

    /// No span will be asked for that starts before this clean offset.
    pub(super) fn forget_before(&mut self, clean: u64) {
        if self.gaps.len() > 1 {
            let behind = self.gaps.partition_point(|gap| gap.before <= clean);
            if behind > 1024 || behind > self.gaps.len() / 2 {
                self.gaps.drain(..behind.saturating_sub(1));
            }
        }
    }

    fn step(&self, byte: u8) -> CleanStep {
        let at = self.held.len();
        match self.state {
            CleanState::Start if BOM[at] == byte => {
                if at + 1 == BOM.len() {
                    CleanStep::Remove
                } else {
                    CleanStep::Hold(CleanState::Start)
                }
            }
            CleanState::Start | CleanState::Text => CleanStep::Keep,
            CleanState::Escape => match byte {
                b'[' => CleanStep::Hold(CleanState::Control),
                b']' | b'P' | b'X' | b'^' | b'_' => CleanStep::Hold(CleanState::String),
                b'(' | b')' => CleanStep::Hold(CleanState::Charset),
                b'7' | b'8' | b'=' | b'>' | b'@'..=b'Z' | b'\\' => CleanStep::Remove,
                _ => CleanStep::Keep,
            },
            CleanState::Charset if byte.is_ascii_alphanumeric() => CleanStep::Remove,
            CleanState::Charset => CleanStep::Keep,
            CleanState::Control => match byte {
                b'@'..=b'~' => CleanStep::Remove,
                b' '..=b'?' if at < ESCAPE_LIMIT => CleanStep::Hold(CleanState::Control),
                _ => CleanStep::Keep,
            },
            CleanState::String => match byte {
                0x07 => CleanStep::Remove,
                ESC => CleanStep::Hold(CleanState::StringEscape),
                b' '.. if at < ESCAPE_LIMIT => CleanStep::Hold(CleanState::String),
                _ => CleanStep::Keep,
            },
            CleanState::StringEscape if byte == b'\\' => CleanStep::Remove,
            CleanState::StringEscape => CleanStep::Keep,
        }
    }

    fn pass(&mut self, bytes: &[u8], sink: &mut impl FnMut(&[u8])) {
        self.passed += bytes.len() as u64;
        sink(bytes);
    }

    fn remove(&mut self, bytes: u64) {
        let total = self.gaps.last().map_or(0, |gap| gap.total) + bytes;
        match self.gaps.last_mut() {
            Some(last) if last.before == self.passed => last.total = total,
            _ => self.gaps.push(Gap { before: self.passed, total }),
        }
        if self.gaps.len() > GAP_LIMIT {
            let mut index = 0;
            self.gaps.retain(|_| {
                index += 1;
                index % 2 == 1 || index > GAP_LIMIT / 2
            });
        }
        self.held.clear();
        self.state = CleanState::Text;
    }

    /// The held bytes are text; one escape byte at their end, of a string cut short, may begin the next escape.
    fn keep(&mut self, sink: &mut impl FnMut(&[u8])) {
        let again = self.state == CleanState::StringEscape;
        let mut held = std::mem::take(&mut self.held);
        let text = held.len() - usize::from(again);
        if text > 0 {
            self.pass(&held[..text], sink);
        }
        held.drain(..text);
        self.held = held;
        self.state = if again { CleanState::Escape } else { CleanState::Text };
    }
}

#[cfg(test)]
mod tests {
    use super::{Cleaner, Span};

    fn clean(message: &[u8], chunk: usize) -> (Vec<u8>, Cleaner) {
        let (mut cleaner, mut out) = (Cleaner::default(), Vec::new());
        for part in message.chunks(chunk) {
            cleaner.push(part, |bytes| out.extend_from_slice(bytes));
        }
        cleaner.finish(|bytes| out.extend_from_slice(bytes));
        cleaner.finish(|bytes| out.extend_from_slice(bytes));
        (out, cleaner)
    }

    #[test]
    fn escapes_go_and_everything_else_stays() {
        for (message, expect) in [
            ("plain", "plain"),
            ("\u{feff}bom", "bom"),
            ("a\u{feff}b", "a\u{feff}b"),
            ("\x1b[1;32mgreen\x1b[0m", "green"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b(Bx\x1b7y\x1bMz", "xyz"),
            ("cut \x1b[12", "cut \x1b[12"),
            ("bad \x1b[12\n", "bad \x1b[12\n"),
            ("string \x1b]cut by a line\nend", "string \x1b]cut by a line\nend"),
            ("\x1b]open \x1b[0mnext", "\x1b]open next"),
            ("esc \x1b<pilot:skip/>", "esc \x1b<pilot:skip/>"),
            ("\x1b\x1b[0mx", "\x1bx"),
        ] {
            for chunk in [1, 2, 3, 1000] {
                let (out, _) = clean(message.as_bytes(), chunk);
                assert_eq!(String::from_utf8_lossy(&out), expect, "{message:?} in chunks of {chunk}");
            }
        }
    }

    #[test]
    fn spans_lead_back_to_the_bytes_as_they_came() {
        let (out, cleaner) = clean(b"\xef\xbb\xbfa\x1b[1mbc\x1b[0md", 1000);
        assert_eq!(out, b"abcd");
        let original = |start, end| {
            let span = cleaner.original(Span { start, end });
            (span.start, span.end)
        };
        assert_eq!(original(0, 1), (3, 4));
        assert_eq!(original(1, 3), (8, 10));
        assert_eq!(original(0, 4), (3, 15));
    }
}
