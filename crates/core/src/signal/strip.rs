//! The text for people: a message without the marks that count.
//!
//! Built on the scanner's own spans, so it can neither leak a mark nor swallow text.

use std::collections::VecDeque;

use super::event::{Code, Found, Span};
use super::scanner::Scanner;

/// Text held back for a mark that may still turn out to count; beyond, it is passed on as it is.
const HELD_BYTES: usize = 8 << 20;

#[derive(Debug, Default)]
pub struct Stripper {
    scanner: Scanner,
    cuts: VecDeque<Span>,
    /// Text not passed on yet, and its offset.
    text: Vec<u8>,
    at: u64,
    line: PassedLine,
}

/// The line that is being passed on.
#[derive(Debug, Default)]
struct PassedLine {
    /// Something other than blanks and cuts stood on it.
    has_text: bool,
    has_cut: bool,
    /// Blanks and colours that go when the line holds nothing but cuts.
    blanks: Vec<u8>,
    escape: Escape,
}

/// How far a terminal escape has come among the blanks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Escape {
    #[default]
    None,
    Begun,
    Parameters,
}

impl Stripper {
    /// Takes the next bytes of the message and appends what is for people to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.scanner.push(bytes);
        self.text.extend_from_slice(bytes);
        self.take_cuts();
        let end = self.at + self.text.len() as u64;
        let settled = self.scanner.settled();
        self.pass(settled.max(end.saturating_sub(HELD_BYTES as u64)), out);
    }

    /// The message is over; the next bytes start another one.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.scanner.finish();
        self.take_cuts();
        self.pass(self.at + self.text.len() as u64, out);
        if !self.line.has_cut || self.line.escape != Escape::None {
            out.append(&mut self.line.blanks);
        }
        (self.at, self.line) = (0, PassedLine::default());
    }

    fn take_cuts(&mut self) {
        while let Some(found) = self.scanner.next_found() {
            let span = match found {
                Found::Signal(signal) => signal.span,
                Found::Wrapper(span) => span,
                Found::Diagnostic(diagnostic) if diagnostic.code == Code::Duplicate => diagnostic.span,
                Found::Diagnostic(_) => continue,
            };
            // A wrapper comes behind the marks it holds.
            while self.cuts.back().is_some_and(|cut| cut.start >= span.start) {
                self.cuts.pop_back();
            }
            self.cuts.push_back(span);
        }
    }

    /// Passes on everything before `end` that is not cut.
    fn pass(&mut self, end: u64, out: &mut Vec<u8>) {
        let mut done = self.at;
        let local = |offset: u64, base: u64| (offset - base) as usize;
        while let Some(cut) = self.cuts.front().copied().filter(|cut| cut.start < end) {
            let start = cut.start.max(done);
            self.line.text(&self.text[local(done, self.at)..local(start, self.at)], out);
            self.line.has_cut = true;
            done = cut.end.max(done);
            self.cuts.pop_front();
        }
        if end > done {
            self.line.text(&self.text[local(done, self.at)..local(end, self.at)], out);
            done = end;
        }
        self.text.drain(..local(done, self.at));
        self.at = done;
    }
}

impl PassedLine {
    fn text(&mut self, mut text: &[u8], out: &mut Vec<u8>) {
        while !text.is_empty() {
            let used = if self.has_text { self.in_text(text, out) } else { self.in_blanks(text, out) };
            text = &text[used..];
        }
    }

    /// Passes on the rest of a line that has text.
    fn in_text(&mut self, text: &[u8], out: &mut Vec<u8>) -> usize {
        let end = memchr::memchr(b'\n', text).map(|at| at + 1);
        out.extend_from_slice(&text[..end.unwrap_or(text.len())]);
        if end.is_some() {
            *self = PassedLine { blanks: std::mem::take(&mut self.blanks), ..PassedLine::default() };
        }
        end.unwrap_or(text.len())
    }

    /// Holds back blanks until the line shows what it is.
    fn in_blanks(&mut self, text: &[u8], out: &mut Vec<u8>) -> usize {
        let blanks = text.iter().take_while(|byte| self.escape.take_blank(**byte)).count();
        self.blanks.extend_from_slice(&text[..blanks]);
        match text.get(blanks) {
            Some(b'\n') if self.escape == Escape::None => {
                if !self.has_cut {
                    out.extend_from_slice(&self.blanks);
                    out.push(b'\n');
                }
                self.blanks.clear();
                self.has_cut = false;
                blanks + 1
            }
            Some(_) => {
                out.append(&mut self.blanks);
                (self.has_text, self.escape) = (true, Escape::None);
                blanks
            }
            None => blanks,
        }
    }
}

impl Escape {
    /// Whether a byte is a blank or part of a colour, which is invisible on an empty line.
    fn take_blank(&mut self, byte: u8) -> bool {
        *self = match (*self, byte) {
            (Escape::None, b' ' | b'\t' | b'\r') | (Escape::Parameters, b'@'..=b'~') => Escape::None,
            (Escape::None, 0x1b) => Escape::Begun,
            (Escape::Begun, b'[') | (Escape::Parameters, b' '..=b'?') => Escape::Parameters,
            (Escape::None | Escape::Begun | Escape::Parameters, _) => return false,
        };
        true
    }
}

pub fn strip(message: &[u8]) -> Vec<u8> {
    let (mut stripper, mut out) = (Stripper::default(), Vec::new());
    stripper.push(message, &mut out);
    stripper.finish(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::{Stripper, strip};

    #[test]
    fn a_line_of_marks_goes_whole_and_any_other_line_stays() {
        for (message, expect) in [
            ("a\n  <pilot:skip/>\t\nb\n", "a\nb\n"),
            ("a <pilot:skip/>\nb", "a \nb"),
            ("<pilot:skip/> b\n", " b\n"),
            ("<pilot:skip/> <pilot:skip/>\nb", "b"),
            ("\x1b[1mEXIT_SIGNAL: true\x1b[0m\nb", "b"),
            ("\x1b[1m\n", "\x1b[1m\n"),
            ("<pilot:skip/>\x1b[1\nb", "\x1b[1\nb"),
            ("<pilot:skip/>\x1b[1", "\x1b[1"),
            ("\x1b[1mred\x1b[0m\n", "\x1b[1mred\x1b[0m\n"),
            ("```\n<pilot:skip/>\n```\nb", "b"),
            ("a\n```xml\n\n<pilot:approve/>\n```", "a\n"),
            ("  \n", "  \n"),
            ("  ", "  "),
            ("x <pilot:reject>a\nb</pilot:reject>\ny", "x \ny"),
        ] {
            for chunk in [1, 3, 1000] {
                let (mut stripper, mut out) = (Stripper::default(), Vec::new());
                message.as_bytes().chunks(chunk).for_each(|part| stripper.push(part, &mut out));
                stripper.finish(&mut out);
                assert_eq!(String::from_utf8_lossy(&out), expect, "{message:?} in chunks of {chunk}");
            }
            assert_eq!(strip(message.as_bytes()), expect.as_bytes(), "{message:?}");
        }
    }
}
