//! Naive looks at a whole message: slow, short, and written without the scanner in mind.

use pilot_core::signal::{Code, Found, Span};

/// The span of anything found.
pub(super) fn span(found: &Found) -> Span {
    match found {
        Found::Signal(signal) => signal.span,
        Found::Diagnostic(diagnostic) => diagnostic.span,
        Found::Wrapper(span) => *span,
    }
}

/// The span, when it is one that people do not get to see.
pub(super) fn cut(found: &Found) -> Option<Span> {
    match found {
        Found::Signal(_) | Found::Wrapper(_) => Some(span(found)),
        Found::Diagnostic(diagnostic) => (diagnostic.code == Code::Duplicate).then_some(diagnostic.span),
    }
}

/// What stands on the line of `start` before it, and on the line of `end` behind it.
pub(super) fn around(message: &[u8], span: Span) -> (&[u8], &[u8]) {
    let (before, behind) = (&message[..span.start as usize], &message[span.end as usize..]);
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line_end = behind.iter().position(|byte| *byte == b'\n').unwrap_or(behind.len());
    (&before[line_start..], &behind[..line_end])
}

/// Whether the message is its own cleaned text: no escape, no byte order mark.
pub(super) fn is_clean(message: &[u8]) -> bool {
    !message.contains(&0x1b) && !message.starts_with(b"\xef\xbb\xbf")
}

/// White space and nothing else.
pub(super) fn is_blank(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_whitespace)
}

/// A message as it is shown when a law breaks.
pub(super) fn shown(message: &[u8]) -> String {
    const MOST: usize = 2000;
    let cut = &message[..message.len().min(MOST)];
    let more = if message.len() > MOST { " and more" } else { "" };
    format!("{} bytes: b\"{}\"{more}", message.len(), cut.escape_ascii())
}
