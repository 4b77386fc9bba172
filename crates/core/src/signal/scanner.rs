//! The scanner: bytes of one message in, in any chunks; signals and diagnostics out, in order of appearance.

use std::collections::VecDeque;

use super::clean::Cleaner;
use super::duplicates::Duplicates;
use super::event::{Diagnostic, Found, Signal};
use super::reading::MessageReading;

/// Reads the marks of one message after another.
///
/// ```
/// use pilot_core::signal::{Found, Kind, Scanner};
///
/// let mut scanner = Scanner::new();
/// scanner.push(b"Done.\n<pilot:comp");
/// scanner.push(b"leted>all tests pass</pilot:completed>\n");
/// scanner.finish();
/// let Some(Found::Signal(signal)) = scanner.next_found() else { panic!("no signal") };
/// assert_eq!(signal.kind, Kind::Completed);
/// assert_eq!(signal.payload.as_deref(), Some("all tests pass"));
/// ```
#[derive(Debug)]
pub struct Scanner {
    cleaner: Cleaner,
    reading: MessageReading,
    duplicates: Duplicates,
    ready: VecDeque<Found>,
}

impl Default for Scanner {
    fn default() -> Self {
        Scanner::new()
    }
}

impl Scanner {
    pub fn new() -> Scanner {
        Scanner {
            cleaner: Cleaner::default(),
            reading: MessageReading::new(),
            duplicates: Duplicates::default(),
            ready: VecDeque::new(),
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let reading = &mut self.reading;
        self.cleaner.push(bytes, |clean| reading.feed(clean));
        self.collect();
        self.cleaner.forget_before(self.reading.settled());
    }

    /// The message is over: what is still open is settled, and the next bytes start another message.
    pub fn finish(&mut self) {
        let reading = &mut self.reading;
        // What looked like an escape may be kept as text, and its last byte may look like one again.
        self.cleaner.finish(|clean| reading.feed(clean));
        self.cleaner.finish(|clean| reading.feed(clean));
        self.reading.finish();
        self.collect();
        self.duplicates.finish(&mut self.ready);
        self.cleaner = Cleaner::default();
        self.reading = MessageReading::new();
    }

    pub fn next_found(&mut self) -> Option<Found> {
        self.ready.pop_front()
    }

    /// Spans of signals and wrappers found from now on start at or behind this offset of the message. What
    /// `next_found` has not given out yet, or holds back for a duplicate, does not count as found.
    pub(super) fn settled(&self) -> u64 {
        let clean = self.reading.settled();
        let here = self.cleaner.original_offset(clean);
        self.duplicates.settled().map_or(here, |held| held.min(here))
    }

    fn collect(&mut self) {
        for found in self.reading.drain() {
            let found = match found {
                Found::Signal(signal) => {
                    let span = self.cleaner.original(signal.span);
                    Found::Signal(Box::new(Signal { span, ..*signal }))
                }
                Found::Diagnostic(diagnostic) => {
                    let span = self.cleaner.original(diagnostic.span);
                    Found::Diagnostic(Diagnostic { span, ..diagnostic })
                }
                Found::Wrapper(span) => Found::Wrapper(self.cleaner.original(span)),
            };
            self.duplicates.push(found, &mut self.ready);
        }
    }
}

pub fn scan(message: &[u8]) -> Vec<Found> {
    let mut scanner = Scanner::new();
    scanner.push(message);
    scanner.finish();
    std::iter::from_fn(|| scanner.next_found()).collect()
}
