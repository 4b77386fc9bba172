//! What is open until something closes it: tags, the bodies of marks, comments.

use super::event::{Code, Diagnostic, Found, Protocol, Signal, Span};
use super::line;
use super::place::PlaceRecord;
use super::reading::{Dead, LINE_LIMIT, MessageReading, Pending, ReadingMode, without_newline};
use super::tag::{Attributes, MarkName, TagProgress, TagReader, word};
use super::watch::{CommentWatch, MarkWatch, WatchResult};

/// Bytes kept of a body beyond its limit, for a closing tag full of blanks.
const BODY_SLACK: usize = 4096;
/// A comment that may wrap a v3 mark is kept up to here.
const COMMENT_LIMIT: usize = 1 << 18;

/// A whole mark, not yet accepted.
#[derive(Debug)]
pub(super) struct WholeMark {
    pub(super) name: MarkName,
    pub(super) attributes: Attributes,
    /// What stands between its tags; a self-closed mark has nothing there.
    pub(super) payload: Vec<u8>,
    pub(super) too_large: bool,
    /// Whether it has its line, or lines, to itself.
    pub(super) own_line: bool,
    pub(super) span: Span,
}

impl WholeMark {
    /// The signal, then what its tag had too much.
    pub(super) fn into_found(self) -> Vec<Found> {
        let mut signal = Signal::new(Protocol::Xml, self.name.kind(), self.span);
        let text = String::from_utf8_lossy(&self.payload);
        signal.payload = match self.name {
            MarkName::Update => {
                let body = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n'));
                Some(body.unwrap_or(&text).to_owned())
            }
            MarkName::Completed
            | MarkName::Skip
            | MarkName::Approve
            | MarkName::Reject
            | MarkName::Blocked
            | MarkName::Emit => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        };
        let required = self.attributes.required;
        match self.name {
            MarkName::Emit => signal.key = required,
            MarkName::Update => signal.path = required,
            MarkName::Completed
            | MarkName::Skip
            | MarkName::Approve
            | MarkName::Reject
            | MarkName::Blocked => {}
        }
        let mut found = vec![Found::Signal(Box::new(signal))];
        let (code, protocol, span) = (Code::UnknownAttribute, Protocol::Xml, self.span);
        found.extend(
            self.attributes
                .unknown
                .into_iter()
                .map(|detail| Found::Diagnostic(Diagnostic { code, protocol, detail, span })),
        );
        found
    }
}

/// An opening tag that is being read.
#[derive(Debug)]
pub(super) struct OpenTag {
    pub(super) start: u64,
    name: MarkName,
    /// Whether nothing but blanks stands before it on its line.
    own_line: bool,
    reader: TagReader,
    /// Everything behind its name, in case it is no tag.
    raw: Vec<u8>,
}

impl OpenTag {
    pub(super) fn new(name: MarkName, start: u64, own_line: bool) -> OpenTag {
        OpenTag { start, name, own_line, reader: TagReader::new(name), raw: Vec::new() }
    }

    /// Reads on; how many bytes belong to the tag, and what became of it.
    pub(super) fn feed(&mut self, data: &[u8]) -> (usize, TagProgress) {
        for (index, byte) in data.iter().enumerate() {
            let progress = self.reader.step(*byte);
            if progress != TagProgress::More {
                self.raw.extend_from_slice(&data[..=index]);
                return (index + 1, progress);
            }
        }
        self.raw.extend_from_slice(data);
        (data.len(), TagProgress::More)
    }

    fn name_end(&self) -> u64 {
        self.start + self.name.opening().len() as u64
    }

    /// Behind what was read of it.
    fn end(&self) -> u64 {
        self.name_end() + self.raw.len() as u64
    }
}

/// A mark whose body is being read.
#[derive(Debug)]
pub(super) struct OpenMark {
    pub(super) tag: Span,
    name: MarkName,
    attributes: Attributes,
    own_line: bool,
    watch: MarkWatch,
    /// The body so far; nothing once it is too large.
    body: Option<Vec<u8>>,
    /// The reading in which the opening tag is text.
    pub(super) fork: Box<MessageReading>,
}

/// A comment that is being read.
#[derive(Debug)]
pub(super) struct Comment {
    pub(super) start: u64,
    watch: CommentWatch,
    place: CommentPlace,
    /// What it holds so far, while it may be a v3 mark.
    v3: Option<Vec<u8>>,
    /// The reading in which its opener is text.
    pub(super) fork: Box<MessageReading>,
}

impl Comment {
    pub(super) fn new(start: u64, starts_line: bool, fork: Box<MessageReading>) -> Comment {
        let place = CommentPlace {
            place: PlaceRecord::new(Code::InComment),
            at: start + 4,
            carry: Vec::new(),
            line_start: false,
        };
        Comment { start, watch: CommentWatch::new(), place, v3: starts_line.then(Vec::new), fork }
    }

    fn keep(&mut self, data: &[u8]) {
        let Some(kept) = &mut self.v3 else { return };
        kept.extend_from_slice(data);
        let start = kept.trim_ascii_start();
        let prefix = &line::V3_PREFIX[..start.len().min(line::V3_PREFIX.len())];
        if !start.starts_with(prefix) || kept.len() > COMMENT_LIMIT {
            self.v3 = None;
        }
    }
}

impl MessageReading {
    pub(super) fn feed_tag(&mut self, data: &[u8]) -> usize {
        let ReadingMode::Tag(tag) = &mut self.mode else { return 0 };
        let (used, progress) = tag.feed(data);
        if progress != TagProgress::More {
            self.leave_tag(progress);
        }
        used
    }

    pub(super) fn finish_tag(&mut self, tag: OpenTag) {
        self.mode = ReadingMode::Tag(tag);
        self.leave_tag(TagProgress::More);
    }

    /// The tag has ended, or the message inside it; if it is none, what follows its name is text.
    fn leave_tag(&mut self, progress: TagProgress) {
        let ReadingMode::Tag(mut tag) = std::mem::replace(&mut self.mode, ReadingMode::Text) else { return };
        (self.line_start, self.line_clean) = (false, false);
        let (name_end, end, raw) = (tag.name_end(), tag.end(), std::mem::take(&mut tag.raw));
        let tag = OpenTag { raw: raw.clone(), ..tag };
        if self.end_tag(tag, progress) {
            self.at = end;
        } else {
            self.feed_again(&raw, name_end);
        }
    }

    /// Takes a tag that is whole, or was cut off by the end of the message; false when it is no more than text.
    pub(super) fn end_tag(&mut self, tag: OpenTag, progress: TagProgress) -> bool {
        let span = Span { start: tag.start, end: tag.end() };
        match progress {
            TagProgress::Malformed(why) => {
                self.diagnose(Code::MalformedTag, Protocol::Xml, why, span);
                false
            }
            TagProgress::More => {
                self.diagnose(Code::Unclosed, Protocol::Xml, "tag", span);
                false
            }
            TagProgress::SelfClosed => {
                self.end_mark(WholeMark {
                    name: tag.name,
                    attributes: tag.reader.into_attributes(),
                    payload: Vec::new(),
                    too_large: false,
                    own_line: tag.own_line,
                    span,
                });
                true
            }
            TagProgress::Opened if self.dead.has(Dead::tag(tag.name)) => {
                self.diagnose(Code::Unclosed, Protocol::Xml, tag.name.as_str(), span);
                true
            }
            TagProgress::Opened => {
                self.open_mark(tag, span);
                true
            }
        }
    }

    fn open_mark(&mut self, tag: OpenTag, span: Span) {
        self.mode = ReadingMode::Mark(Box::new(OpenMark {
            tag: span,
            name: tag.name,
            attributes: tag.reader.into_attributes(),
            own_line: tag.own_line,
            watch: MarkWatch::new(tag.name),
            body: Some(Vec::new()),
            fork: self.fork(span.end, Dead::tag(tag.name)),
        }));
    }

    pub(super) fn feed_mark(&mut self, data: &[u8]) -> usize {
        let ReadingMode::Mark(mark) = &mut self.mode else { return 0 };
        let (held, had_cdata) = (mark.watch.held(), mark.watch.has_cdata());
        let seen = mark.watch.scan(data);
        if mark.watch.has_cdata() && !had_cdata {
            if self.dead.has(Dead::cdata(mark.name)) {
                return self.give_up_mark(data, held);
            }
            mark.fork.revive(Dead::tag(mark.name));
            mark.fork.dead = mark.fork.dead.and(Dead::cdata(mark.name));
        }
        let used = match seen {
            WatchResult::Nothing => data.len(),
            WatchResult::Closed(used) | WatchResult::Reopened(used) => used,
        };
        mark.keep(&data[..used]);
        self.at += used as u64;
        if seen == WatchResult::Nothing {
            let now = mark.watch.held();
            mark.feed_fork(&data[..used], held, now);
            return used;
        }
        let ReadingMode::Mark(mut mark) = std::mem::replace(&mut self.mode, ReadingMode::Text) else {
            return used;
        };
        match seen {
            WatchResult::Closed(_) => self.close_mark(*mark),
            WatchResult::Reopened(_) | WatchResult::Nothing => {
                let opening = mark.name.opening();
                mark.feed_fork(&data[..used], held, opening.len());
                let name = mark.name;
                self.unclosed_mark(*mark);
                self.revive(Dead::tag(name).and(Dead::cdata(name)));
                self.feed(opening);
            }
        }
        used
    }

    /// The mark cannot be closed: everything behind its opening tag is text.
    fn give_up_mark(&mut self, data: &[u8], held: usize) -> usize {
        if let ReadingMode::Mark(mut mark) = std::mem::replace(&mut self.mode, ReadingMode::Text) {
            mark.feed_fork(data, held, 0);
            self.unclosed_mark(*mark);
        }
        data.len()
    }

    pub(super) fn finish_mark(&mut self, mut mark: OpenMark) {
        let held = mark.watch.held();
        mark.feed_fork(b"", held, 0);
        self.unclosed_mark(mark);
    }

    fn unclosed_mark(&mut self, mark: OpenMark) {
        self.diagnose(Code::Unclosed, Protocol::Xml, mark.name.as_str(), mark.tag);
        self.become_fork(mark.fork);
    }

    fn close_mark(&mut self, mark: OpenMark) {
        let whole = mark.body.map(|body| mark.watch.payload(&body));
        let limit = mark.name.body_limit();
        let payload = whole.filter(|payload| payload.len() <= limit);
        self.end_mark(WholeMark {
            name: mark.name,
            attributes: mark.attributes,
            too_large: payload.is_none(),
            payload: payload.unwrap_or_default(),
            own_line: mark.own_line,
            span: Span { start: mark.tag.start, end: self.at },
        });
    }

    /// A mark has ended in the middle of a line; an approval has yet to see the rest of it.
    fn end_mark(&mut self, mark: WholeMark) {
        (self.line_start, self.line_clean) = (false, false);
        if mark.name == MarkName::Approve && mark.own_line && !mark.too_large {
            self.pending = Some(Pending::Approve(mark));
        } else {
            self.take_mark(mark);
        }
    }

    pub(super) fn feed_comment(&mut self, data: &[u8]) -> usize {
        let ReadingMode::Comment(comment) = &mut self.mode else { return 0 };
        let end = comment.watch.scan(data);
        let used = end.unwrap_or(data.len());
        comment.keep(&data[..used]);
        comment.place.feed(&data[..used]);
        self.at += used as u64;
        if end.is_none() {
            comment.fork.feed(data);
            return used;
        }
        let ReadingMode::Comment(mut comment) = std::mem::replace(&mut self.mode, ReadingMode::Text) else {
            return used;
        };
        (self.line_start, self.line_clean) = (false, false);
        let span = Span { start: comment.start, end: self.at };
        match comment.v3.take().as_deref().and_then(v3_json) {
            Some(json) => self.pending = Some(Pending::V3 { json: json.to_vec(), span }),
            None => self.find_all(comment.place.finish().into_iter().map(Found::Diagnostic)),
        }
        used
    }
}

impl OpenMark {
    fn keep(&mut self, data: &[u8]) {
        let Some(body) = &mut self.body else { return };
        body.extend_from_slice(data);
        if body.len() > self.name.body_limit() + BODY_SLACK {
            self.body = None;
        }
    }

    /// Passes the bytes on that cannot be the start of the same opening tag: `held` before `data` could have been,
    /// the last `now` still can.
    fn feed_fork(&mut self, data: &[u8], held: usize, now: usize) {
        let opening = self.name.opening();
        let ready = held + data.len() - now;
        let first = held.min(ready);
        self.fork.feed(&opening[..first]);
        self.fork.feed(&data[..ready - first]);
    }
}

/// The JSON of a v3 mark that is all a comment holds.
fn v3_json(comment: &[u8]) -> Option<&[u8]> {
    comment.strip_suffix(b"-->")?.trim_ascii().strip_prefix(line::V3_PREFIX)
}

/// Looks at the lines of a comment.
#[derive(Debug)]
struct CommentPlace {
    place: PlaceRecord,
    at: u64,
    carry: Vec<u8>,
    line_start: bool,
}

impl CommentPlace {
    fn feed(&mut self, data: &[u8]) {
        for line in data.split_inclusive(|byte| *byte == b'\n') {
            let whole = line.ends_with(b"\n");
            if whole && self.carry.is_empty() {
                self.look(line, true);
                continue;
            }
            self.carry.extend_from_slice(line);
            if whole || self.carry.len() >= LINE_LIMIT {
                let carry = std::mem::take(&mut self.carry);
                self.look(&carry, whole);
            }
        }
    }

    fn look(&mut self, line: &[u8], whole: bool) {
        if whole && self.line_start {
            self.place.line(without_newline(line), self.at);
        } else {
            self.place.tags(line, self.at);
        }
        self.at += line.len() as u64;
        self.line_start = whole;
    }

    fn finish(mut self) -> Vec<Diagnostic> {
        let carry = std::mem::take(&mut self.carry);
        self.look(carry.strip_suffix(b"-->").unwrap_or(&carry), false);
        self.place.into_found()
    }
}

/// The marks of a text that starts at offset `at`, when it holds nothing but marks and white space.
pub(super) fn only_marks(text: &[u8], at: u64) -> Option<Vec<WholeMark>> {
    let mut marks = Vec::new();
    let mut from = 0;
    loop {
        from += text[from..].len() - text[from..].trim_ascii_start().len();
        if from == text.len() {
            return Some(marks);
        }
        let (mark, end) = whole_mark(text, from, at)?;
        marks.push(mark);
        from = end;
    }
}

/// The mark at `from`, and where it ends.
fn whole_mark(text: &[u8], from: usize, at: u64) -> Option<(WholeMark, usize)> {
    let name = MarkName::parse(word(text[from..].strip_prefix(super::tag::PREFIX)?))?;
    let (tag, self_closed) = whole_tag(name, &text[from + name.opening().len()..])?;
    let body = &text[from + name.opening().len() + tag.length..];
    let (payload, length) = if self_closed {
        (Vec::new(), 0)
    } else {
        let mut watch = MarkWatch::new(name);
        match watch.scan(body) {
            WatchResult::Closed(length) => (watch.payload(body), length),
            WatchResult::Nothing | WatchResult::Reopened(_) => return None,
        }
    };
    let end = from + name.opening().len() + tag.length + length;
    let line_before = text[..from].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let line_behind = text[end..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mark = WholeMark {
        name,
        attributes: tag.attributes,
        too_large: payload.len() > name.body_limit(),
        payload,
        own_line: line::is_blank(line_before) && line::is_blank(line_behind),
        span: Span { start: at + from as u64, end: at + end as u64 },
    };
    Some((mark, end))
}

struct WholeTag {
    attributes: Attributes,
    /// Bytes behind the name.
    length: usize,
}

fn whole_tag(name: MarkName, behind: &[u8]) -> Option<(WholeTag, bool)> {
    let mut reader = TagReader::new(name);
    for (index, byte) in behind.iter().enumerate() {
        let self_closed = match reader.step(*byte) {
            TagProgress::More => continue,
            TagProgress::Malformed(_) => return None,
            TagProgress::SelfClosed => true,
            TagProgress::Opened => false,
        };
        return Some((WholeTag { attributes: reader.into_attributes(), length: index + 1 }, self_closed));
    }
    None
}
