//! The laws of the scanner.

use pilot_core::signal::{Found, Kind, Protocol, Scanner, Signal, Span, scan};

use super::cuts;
use super::message::{around, cut, is_blank, is_clean, shown, span};

/// Marks of the XML dialect that may count in one message.
const MARKS: usize = 200;
/// The longest payload, an update's.
const PAYLOAD: usize = 1 << 20;

/// Panics when the scanner breaks a law on this message.
pub(super) fn check(message: &[u8]) {
    let found = scan(message);
    any_chunks_say_the_same(message, &found);
    spans_lie_in_the_message(message, &found);
    finds_come_in_order(message, &found);
    marks_are_apart(message, &found);
    wrappers_hold_marks(message, &found);
    marks_are_limited(message, &found);
    for signal in signals(&found) {
        values_are_in_bounds(message, signal);
        if is_clean(message) {
            stands_where_it_counts(message, signal);
        }
    }
}

/// What is taken out between chunks is final, and a scanner that has finished one message knows nothing of it.
fn any_chunks_say_the_same(message: &[u8], whole: &[Found]) {
    let mut scanner = Scanner::new();
    for way in cuts::ways(message) {
        let mut found = Vec::new();
        for chunk in &way {
            scanner.push(chunk);
            found.extend(std::iter::from_fn(|| scanner.next_found()));
        }
        scanner.finish();
        found.extend(std::iter::from_fn(|| scanner.next_found()));
        if found != whole {
            let sizes: Vec<usize> = way.iter().map(|chunk| chunk.len()).take(40).collect();
            panic!(
                "chunks of {sizes:?} bytes say something else.\nwhole: {whole:#?}\nchunks: {found:#?}\n{}",
                shown(message)
            );
        }
    }
}

fn spans_lie_in_the_message(message: &[u8], found: &[Found]) {
    for found in found {
        let Span { start, end } = span(found);
        let fine = start < end && end <= message.len() as u64;
        assert!(fine, "a span outside the message: {found:?}\n{}", shown(message));
    }
}

/// A wrapper comes behind the marks it holds; all else in order of appearance.
fn finds_come_in_order(message: &[u8], found: &[Found]) {
    let mut last = 0;
    for found in found.iter().filter(|found| !matches!(found, Found::Wrapper(_))) {
        let Span { start, .. } = span(found);
        assert!(start >= last, "out of order, behind {last}: {found:?}\n{}", shown(message));
        last = start;
    }
}

/// Only the objects of one v2 block share a span.
fn marks_are_apart(message: &[u8], found: &[Found]) {
    let mut last: Option<(Span, bool)> = None;
    for found in found {
        let (span, is_v2) = match found {
            Found::Signal(signal) => (signal.span, signal.protocol == Protocol::V2),
            Found::Wrapper(_) => continue,
            Found::Diagnostic(_) => match cut(found) {
                Some(span) => (span, false),
                None => continue,
            },
        };
        let fine = last
            .is_none_or(|(before, was_v2)| span.start >= before.end || (is_v2 && was_v2 && span == before));
        assert!(fine, "behind {last:?}, overlapping: {found:?}\n{}", shown(message));
        last = Some((span, is_v2));
    }
}

/// Each mark lies in a wrapper or outside it, and each wrapper holds one.
fn wrappers_hold_marks(message: &[u8], found: &[Found]) {
    for wrapper in found.iter().filter_map(wrapper) {
        let mut held = 0;
        for signal in signals(found) {
            let inside = signal.span.start >= wrapper.start && signal.span.end <= wrapper.end;
            let outside = signal.span.end <= wrapper.start || signal.span.start >= wrapper.end;
            assert!(inside || outside, "half in {wrapper:?}: {signal:?}\n{}", shown(message));
            held += usize::from(inside);
        }
        assert!(held > 0, "an empty wrapper at {wrapper:?}\n{}", shown(message));
    }
}

fn marks_are_limited(message: &[u8], found: &[Found]) {
    let marks = signals(found).filter(|signal| signal.protocol == Protocol::Xml).count();
    assert!(marks <= MARKS, "{marks} marks count\n{}", shown(message));
}

fn values_are_in_bounds(message: &[u8], signal: &Signal) {
    let payload = signal.payload.as_deref();
    let fine = match signal.kind {
        Kind::Update => payload.is_some() && signal.path.as_deref().is_some_and(|path| !path.is_empty()),
        Kind::Emit => is_trimmed(payload) && signal.key.as_deref().is_some_and(|key| !key.is_empty()),
        Kind::Completed | Kind::Skip | Kind::Approve | Kind::Reject | Kind::Blocked => is_trimmed(payload),
        Kind::Status | Kind::Phase | Kind::Exit | Kind::Stagnation | Kind::Marker | Kind::Other(_) => {
            payload.is_none() && signal.key.is_none() && signal.path.is_none()
        }
    };
    let progress = signal.progress.is_none_or(|progress| progress <= 100);
    let size = payload.is_none_or(|payload| payload.len() <= PAYLOAD);
    assert!(fine && progress && size, "a value out of bounds: {signal:?}\n{}", shown(message));
}

fn is_trimmed(payload: Option<&str>) -> bool {
    payload.is_none_or(|payload| !payload.is_empty() && payload.trim_ascii() == payload)
}

/// Nothing quoted counts, an approval has its lines to itself, and so has every mark that is a line or more.
fn stands_where_it_counts(message: &[u8], signal: &Signal) {
    let (before, behind) = around(message, signal.span);
    let above = &message[..signal.span.start as usize - before.len()];
    let first = before.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    let quoted = first == Some(&b'>') && !may_be_inside(above);
    assert!(!quoted, "a quoted mark counts: {signal:?}\n{}", shown(message));
    let alone = match signal.protocol {
        Protocol::Xml => signal.kind != Kind::Approve || (is_blank(before) && is_blank(behind)),
        Protocol::V3 | Protocol::Legacy => is_blank(before) && is_blank(behind),
        // A list mark may stand before it.
        Protocol::V2 => is_blank(behind),
    };
    assert!(alone, "not on its own line: {signal:?}\n{}", shown(message));
}

/// Whether a line below `above` may begin inside a tag, a mark's body or a comment: there `>` quotes nothing.
fn may_be_inside(above: &[u8]) -> bool {
    [&b"<pilot:"[..], b"<!--"].iter().any(|opener| above.windows(opener.len()).any(|here| here == *opener))
}

fn signals(found: &[Found]) -> impl Iterator<Item = &Signal> {
    found.iter().filter_map(|found| match found {
        Found::Signal(signal) => Some(signal.as_ref()),
        Found::Diagnostic(_) | Found::Wrapper(_) => None,
    })
}

fn wrapper(found: &Found) -> Option<Span> {
    match found {
        Found::Wrapper(span) => Some(*span),
        Found::Signal(_) | Found::Diagnostic(_) => None,
    }
}
