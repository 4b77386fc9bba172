//! A legacy status that repeats a v2 or v3 one of the same message is the same report: the other one is kept.
//!
//! The other one may come later, so a legacy status holds back what follows it, up to a bound.

use std::collections::{HashSet, VecDeque};

use super::event::{Code, Diagnostic, Found, Kind, Protocol, Signal};
use super::reading::{size, span};
use crate::phase::Phase;

/// Held back at most; beyond, the oldest legacy status counts.
const HELD_BYTES: usize = 2 << 20;
/// Reports remembered at most.
const REPORTS: usize = 4096;

/// What two reports of the same thing have in common.
type ReportKey = (Option<Phase>, Option<i64>);

#[derive(Debug, Default)]
pub(super) struct Duplicates {
    /// The v2 and v3 reports of this message.
    seen: HashSet<ReportKey>,
    /// What is held back; its first is a legacy status.
    held: VecDeque<Found>,
    held_bytes: usize,
}

impl Duplicates {
    pub(super) fn push(&mut self, found: Found, ready: &mut VecDeque<Found>) {
        let found = match legacy_report(&found) {
            Some(report) if self.seen.contains(&report) => as_duplicate(found),
            Some(_) | None => found,
        };
        if let Some(report) = other_report(&found) {
            self.note(report);
        }
        if self.held.is_empty() && legacy_report(&found).is_none() {
            ready.push_back(found);
            return;
        }
        self.held_bytes += size(&found);
        self.held.push_back(found);
        while self.held_bytes > HELD_BYTES {
            self.release_one(ready);
            self.release(ready);
        }
        self.release(ready);
    }

    pub(super) fn finish(&mut self, ready: &mut VecDeque<Found>) {
        ready.extend(self.held.drain(..));
        *self = Duplicates::default();
    }

    /// The start of the first thing held back.
    pub(super) fn settled(&self) -> Option<u64> {
        self.held.front().map(|found| span(found).start)
    }

    /// A v2 or v3 report: the legacy ones held back that say the same do not count.
    fn note(&mut self, report: ReportKey) {
        for held in &mut self.held {
            if legacy_report(held).as_ref() == Some(&report) {
                let found = std::mem::replace(held, Found::Wrapper(super::Span { start: 0, end: 0 }));
                *held = as_duplicate(found);
            }
        }
        if self.seen.len() < REPORTS {
            self.seen.insert(report);
        }
    }

    /// Lets out everything up to the next legacy status.
    fn release(&mut self, ready: &mut VecDeque<Found>) {
        while self.held.front().is_some_and(|found| legacy_report(found).is_none()) {
            self.release_one(ready);
        }
    }

    fn release_one(&mut self, ready: &mut VecDeque<Found>) {
        if let Some(found) = self.held.pop_front() {
            self.held_bytes -= size(&found).min(self.held_bytes);
            ready.push_back(found);
        }
    }
}

fn report(signal: &Signal) -> ReportKey {
    (signal.phase.clone(), signal.iteration)
}

fn legacy_report(found: &Found) -> Option<ReportKey> {
    match found {
        Found::Signal(signal) if signal.protocol == Protocol::Legacy && signal.kind == Kind::Status => {
            Some(report(signal))
        }
        Found::Signal(_) | Found::Diagnostic(_) | Found::Wrapper(_) => None,
    }
}

fn other_report(found: &Found) -> Option<ReportKey> {
    match found {
        Found::Signal(signal)
            if matches!(signal.protocol, Protocol::V2 | Protocol::V3) && signal.kind == Kind::Status =>
        {
            Some(report(signal))
        }
        Found::Signal(_) | Found::Diagnostic(_) | Found::Wrapper(_) => None,
    }
}

fn as_duplicate(found: Found) -> Found {
    match found {
        Found::Signal(signal) => Found::Diagnostic(Diagnostic {
            code: Code::Duplicate,
            protocol: Protocol::Legacy,
            detail: signal.phase.as_ref().map_or_else(String::new, Phase::to_string),
            span: signal.span,
        }),
        other @ (Found::Diagnostic(_) | Found::Wrapper(_)) => other,
    }
}
