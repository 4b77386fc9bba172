//! Watches the body of an open mark for its end: the closing tag, or the same tag once more at the start of a line.

use super::look::{find, looked, memchr};

use super::tag::MarkName;

const CDATA_OPEN: &[u8] = b"<![CDATA[";
const CDATA_CLOSE: &[u8] = b"]]>";

/// What the bytes looked at so far have shown.
#[derive(Debug, PartialEq)]
pub(super) enum WatchResult {
    Nothing,
    /// The closing tag ended; so many of the bytes belong to the mark.
    Closed(usize),
    /// The same opening tag stands at the start of a line; so many of the bytes come before what follows its name.
    Reopened(usize),
}

#[derive(Debug)]
pub(super) struct MarkWatch {
    name: MarkName,
    state: WatchState,
    /// Bytes of the body looked at.
    read: usize,
    /// Whether the last byte ended a line.
    line_start: bool,
    closing_at: usize,
    has_cdata: bool,
    cdata_end: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum WatchState {
    /// At the start of the body, inside what may be a CDATA opener.
    Opener(usize),
    Idle,
    /// Behind a `<`, which may have stood at the start of a line.
    Less {
        line_start: bool,
    },
    /// Inside what may be the closing tag: so many bytes of `<pilot:name` match.
    Closing(usize),
    /// Behind the name of the closing tag.
    Closed,
    /// Inside what may be the same opening tag.
    Reopening(usize),
    Cdata(usize),
}

impl MarkWatch {
    pub(super) fn new(name: MarkName) -> MarkWatch {
        MarkWatch {
            name,
            state: WatchState::Opener(0),
            read: 0,
            line_start: false,
            closing_at: 0,
            has_cdata: false,
            cdata_end: None,
        }
    }

    /// How many of the bytes looked at last may be the start of the same opening tag.
    pub(super) fn held(&self) -> usize {
        match self.state {
            WatchState::Less { line_start: true } => 1,
            WatchState::Reopening(matched) => matched,
            WatchState::Less { line_start: false }
            | WatchState::Opener(_)
            | WatchState::Idle
            | WatchState::Closing(_)
            | WatchState::Closed
            | WatchState::Cdata(_) => 0,
        }
    }

    /// Whether the body starts with a CDATA section.
    pub(super) fn has_cdata(&self) -> bool {
        self.has_cdata
    }

    /// Looks at the next bytes, up to the end of the mark.
    pub(super) fn scan(&mut self, data: &[u8]) -> WatchResult {
        let mut at = 0;
        while at < data.len() {
            at += self.skip(&data[at..]);
            let Some(&byte) = data.get(at) else { break };
            match self.step(byte) {
                WatchResult::Nothing => at += 1,
                WatchResult::Closed(_) => return WatchResult::Closed(at + 1),
                WatchResult::Reopened(_) => return WatchResult::Reopened(at),
            }
        }
        WatchResult::Nothing
    }

    /// What stands between the tags: the payload, without a CDATA wrapper.
    pub(super) fn payload(&self, body: &[u8]) -> Vec<u8> {
        let body = &body[..self.closing_at];
        let Some(end) = self.cdata_end else { return body.to_vec() };
        let mut payload = body[CDATA_OPEN.len()..end - CDATA_CLOSE.len()].to_vec();
        if !body[end..].trim_ascii().is_empty() {
            payload.extend_from_slice(&body[end..]);
        }
        payload
    }

    /// Passes over bytes that cannot matter.
    fn skip(&mut self, data: &[u8]) -> usize {
        let skipped = match self.state {
            WatchState::Idle => memchr(b'<', data).unwrap_or(data.len()),
            WatchState::Cdata(0) => memchr(b']', data).unwrap_or(data.len()),
            WatchState::Opener(_)
            | WatchState::Less { .. }
            | WatchState::Closing(_)
            | WatchState::Closed
            | WatchState::Reopening(_)
            | WatchState::Cdata(_) => return 0,
        };
        if skipped > 0 {
            self.line_start = data[skipped - 1] == b'\n';
            self.read += skipped;
        }
        skipped
    }

    fn step(&mut self, byte: u8) -> WatchResult {
        looked(1);
        let line_start = std::mem::replace(&mut self.line_start, byte == b'\n');
        let opening = self.name.opening();
        let less = WatchState::Less { line_start };
        self.state = match self.state {
            WatchState::Opener(matched) if byte == CDATA_OPEN[matched] => {
                self.note_less(byte);
                match matched + 1 {
                    all if all == CDATA_OPEN.len() => {
                        self.has_cdata = true;
                        WatchState::Cdata(0)
                    }
                    more => WatchState::Opener(more),
                }
            }
            WatchState::Opener(1) => self.behind_less(byte, false, less),
            WatchState::Idle | WatchState::Opener(_) => self.idle(byte, less),
            WatchState::Less { line_start: at_start } => self.behind_less(byte, at_start, less),
            WatchState::Closing(matched) if byte == opening[matched] => match matched + 1 {
                all if all == opening.len() => WatchState::Closed,
                more => WatchState::Closing(more),
            },
            WatchState::Closed if byte == b'>' => {
                self.read += 1;
                return WatchResult::Closed(0);
            }
            WatchState::Closed if byte.is_ascii_whitespace() => WatchState::Closed,
            WatchState::Reopening(matched) if matched == opening.len() => {
                if byte.is_ascii_whitespace() || byte == b'/' || byte == b'>' {
                    return WatchResult::Reopened(0);
                }
                self.idle(byte, less)
            }
            WatchState::Reopening(matched) if byte == opening[matched] => WatchState::Reopening(matched + 1),
            WatchState::Closing(_) | WatchState::Closed | WatchState::Reopening(_) => self.idle(byte, less),
            WatchState::Cdata(matched) => self.in_cdata(byte, matched),
        };
        self.read += 1;
        WatchResult::Nothing
    }

    fn idle(&mut self, byte: u8, less: WatchState) -> WatchState {
        self.note_less(byte);
        if byte == b'<' { less } else { WatchState::Idle }
    }

    fn behind_less(&mut self, byte: u8, line_start: bool, less: WatchState) -> WatchState {
        match byte {
            b'/' => WatchState::Closing(1),
            b'p' if line_start => WatchState::Reopening(2),
            _ => self.idle(byte, less),
        }
    }

    fn in_cdata(&mut self, byte: u8, matched: usize) -> WatchState {
        match (byte, matched) {
            (b'>', 2) => {
                self.cdata_end = Some(self.read + 1);
                WatchState::Idle
            }
            (b']', 0) => WatchState::Cdata(1),
            (b']', _) => WatchState::Cdata(2),
            _ => WatchState::Cdata(0),
        }
    }

    fn note_less(&mut self, byte: u8) {
        if byte == b'<' {
            self.closing_at = self.read;
        }
    }
}

/// Watches a comment for its end.
#[derive(Debug)]
pub(super) struct CommentWatch {
    /// Dashes right before the next byte; those of the opener count, so that `<!-->` is whole.
    dashes: usize,
}

impl CommentWatch {
    pub(super) fn new() -> CommentWatch {
        CommentWatch { dashes: 2 }
    }

    /// How many of the bytes belong to the comment, when it ends among them.
    pub(super) fn scan(&mut self, data: &[u8]) -> Option<usize> {
        // The end may straddle the last bytes and these.
        for (at, byte) in data.iter().take(3).enumerate() {
            match byte {
                b'-' => self.dashes += 1,
                b'>' if self.dashes >= 2 => return Some(at + 1),
                _ => self.dashes = 0,
            }
        }
        if let Some(at) = find(data, b"-->") {
            return Some(at + 3);
        }
        if data.len() > 3 {
            self.dashes = data.iter().rev().take_while(|byte| **byte == b'-').count();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{CommentWatch, MarkName, MarkWatch, WatchResult};

    fn scan(body: &str, chunk: usize) -> (WatchResult, usize) {
        let (mut watch, mut before) = (MarkWatch::new(MarkName::Skip), 0);
        for part in body.as_bytes().chunks(chunk) {
            match watch.scan(part) {
                WatchResult::Nothing => before += part.len(),
                WatchResult::Closed(at) => return (WatchResult::Closed(before + at), watch.closing_at),
                WatchResult::Reopened(at) => return (WatchResult::Reopened(before + at), watch.closing_at),
            }
        }
        (WatchResult::Nothing, before)
    }

    #[test]
    fn a_body_ends_at_its_closing_tag() {
        for (body, expect) in [
            ("a</pilot:skip>b", (WatchResult::Closed(14), 1)),
            ("</pilot:skip \t\n>b", (WatchResult::Closed(16), 0)),
            ("<</pilot:skip>", (WatchResult::Closed(14), 1)),
            ("a</pilot:skipped></pilot:skip>", (WatchResult::Closed(30), 17)),
            ("a</pilot:ski</pilot:skip>", (WatchResult::Closed(25), 12)),
            ("<![CDATA[</pilot:skip>]]]></pilot:skip>", (WatchResult::Closed(39), 26)),
            ("<![CDAT</pilot:skip>", (WatchResult::Closed(20), 7)),
            ("a\n<pilot:skip/>", (WatchResult::Reopened(13), 2)),
            ("a\n<pilot:skipped>", (WatchResult::Nothing, 17)),
            ("a <pilot:skip>", (WatchResult::Nothing, 14)),
            ("<pilot:skip>", (WatchResult::Nothing, 12)),
        ] {
            for chunk in [1, 2, 3, 5, 100] {
                assert_eq!(scan(body, chunk), expect, "{body:?} in chunks of {chunk}");
            }
        }
    }

    #[test]
    fn a_comment_ends_at_its_first_closer() {
        for (text, expect) in [
            (" a -->b", Some(6)),
            (">", Some(1)),
            ("->", Some(2)),
            ("-- >", None),
            ("a--", None),
            ("--->", Some(4)),
        ] {
            for chunk in [1, 2, 3, 100] {
                let (mut watch, mut before, mut end) = (CommentWatch::new(), 0, None);
                for part in text.as_bytes().chunks(chunk) {
                    if let Some(at) = watch.scan(part) {
                        end = Some(before + at);
                        break;
                    }
                    before += part.len();
                }
                assert_eq!(end, expect, "{text:?} in chunks of {chunk}");
            }
        }
    }
}
