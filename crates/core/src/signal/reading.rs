//! One reading of a message: what its bytes mean from some offset on.
//!
//! Most bytes are looked at in whole lines. What an opener means depends on what follows, perhaps much later: an
//! HTML comment or a mark that is never closed is plain text. So an opener forks a second reading, in which it is
//! text, and both go on side by side; once it closes, the second is dropped, and when the message ends first, the
//! second takes over. Readings nest at most twice a tag name and once for a comment, because inside an open mark the
//! same opener can only be text (see [`Dead`]). Hence every byte is looked at a bounded number of times, memory is bounded, and
//! nothing is ever read again from the start.

use super::look::{looked, memchr};

use super::event::{Code, Diagnostic, Found, Protocol, Signal, Span};
use super::fence::{JsonBlock, OtherFence};
use super::json;
use super::legacy;
use super::line;
use super::lists::Lists;
use super::open::{Comment, OpenMark, OpenTag, WholeMark};
use super::tag::MarkName;
use super::text::{CodeSpans, Glance};

/// A line is looked at in pieces of this size; only whole lines can be line-sized marks.
pub(super) const LINE_LIMIT: usize = 1 << 18;
/// More marks of the XML dialect are dropped.
const MARK_LIMIT: usize = 200;
/// What a reading that may be dropped may keep for later.
const HELD_BYTES: usize = 2 << 20;

/// How a piece of a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEnding {
    /// With a line feed, which is the last byte of the piece.
    Newline,
    End,
    /// The line continues, but is too long to wait for its end.
    Cut,
}

#[derive(Debug)]
pub(super) enum ReadingMode {
    /// Top level of the Markdown.
    Text,
    /// Inside a `pilot-signal` fence.
    Json(JsonBlock),
    Fence(OtherFence),
    /// Inside a status block.
    Legacy(legacy::LegacyBlock),
    /// Inside an opening tag.
    Tag(OpenTag),
    /// Inside the body of a mark.
    Mark(Box<OpenMark>),
    Comment(Box<Comment>),
}

/// What becomes of the rest of an overlong line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rest {
    Text,
    Quote,
    Nothing,
}

/// A mark that counts only when nothing follows it on its line.
#[derive(Debug)]
pub(super) enum Pending {
    Approve(WholeMark),
    V3 { json: Vec<u8>, span: Span },
}

#[derive(Debug)]
pub(super) struct MessageReading {
    /// The offset of the first byte that has not been read.
    pub(super) at: u64,
    /// Bytes from there on that do not make a whole line yet.
    carry: Vec<u8>,
    /// The line, or the part of an overlong one, that is being read.
    pub(super) segment: Segment,
    /// The message is over: bytes without a line ending are its last line.
    ended: bool,
    pub(super) mode: ReadingMode,
    /// Whether `at` is the start of a line, or nothing but blanks stands before it.
    pub(super) line_start: bool,
    pub(super) line_clean: bool,
    pub(super) rest: Rest,
    pub(super) pending: Option<Pending>,
    /// The line before this one, when it is a rule.
    pub(super) rule: Option<Span>,
    pub(super) lists: Lists,
    /// Whether backticks far back on this overlong line may open a code span that is still open; and what will be so
    /// behind the current segment.
    pub(super) doubt: bool,
    pub(super) doubt_next: bool,
    /// No comment and no tag of ours starts before this offset, as far as it is read.
    pub(super) no_opener_before: u64,
    /// Openers that are text, because an outer reading waits for their end.
    pub(super) dead: Dead,
    marks: usize,
    found: Held,
}

impl MessageReading {
    pub(super) fn new() -> MessageReading {
        MessageReading {
            at: 0,
            carry: Vec::new(),
            segment: Segment::at(0),
            ended: false,
            mode: ReadingMode::Text,
            line_start: true,
            line_clean: true,
            rest: Rest::Text,
            pending: None,
            rule: None,
            lists: Lists::default(),
            doubt: false,
            doubt_next: false,
            no_opener_before: 0,
            dead: Dead::default(),
            marks: 0,
            found: Held { room: usize::MAX, ..Held::default() },
        }
    }

    /// A second reading from `at` on, in the middle of a line, in which openers like `dead` are text.
    pub(super) fn fork(&self, at: u64, dead: Dead) -> Box<MessageReading> {
        Box::new(MessageReading {
            at,
            segment: Segment::at(at),
            line_start: false,
            line_clean: false,
            lists: self.lists.clone(),
            dead: self.dead.and(dead),
            marks: self.marks,
            found: Held { room: HELD_BYTES, ..Held::default() },
            ..MessageReading::new()
        })
    }

    /// Becomes the second reading, keeping what this one has found.
    pub(super) fn become_fork(&mut self, fork: Box<MessageReading>) {
        let (found, ended) = (std::mem::take(&mut self.found), self.ended);
        *self = *fork;
        self.ended = ended;
        self.found = found.followed_by(std::mem::take(&mut self.found));
    }

    /// No outer reading waits for the end of such an opener any more.
    pub(super) fn revive(&mut self, dead: Dead) {
        self.dead = self.dead.without(dead);
        match &mut self.mode {
            ReadingMode::Mark(mark) => mark.fork.revive(dead),
            ReadingMode::Comment(comment) => comment.fork.revive(dead),
            ReadingMode::Text
            | ReadingMode::Json(_)
            | ReadingMode::Fence(_)
            | ReadingMode::Legacy(_)
            | ReadingMode::Tag(_) => {}
        }
    }

    pub(super) fn feed(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let used = match self.mode {
                ReadingMode::Tag(_) => self.feed_tag(data),
                ReadingMode::Mark(_) => self.feed_mark(data),
                ReadingMode::Comment(_) => self.feed_comment(data),
                ReadingMode::Text | ReadingMode::Json(_) | ReadingMode::Fence(_) | ReadingMode::Legacy(_) => {
                    self.feed_lines(data)
                }
            };
            data = &data[used..];
        }
    }

    /// Reads bytes that were taken for something else, from offset `at` on.
    pub(super) fn feed_again(&mut self, data: &[u8], at: u64) {
        self.at = at;
        self.segment = Segment::at(at);
        self.feed(data);
    }

    pub(super) fn finish(&mut self) {
        self.ended = true;
        loop {
            match std::mem::replace(&mut self.mode, ReadingMode::Text) {
                ReadingMode::Tag(tag) => self.finish_tag(tag),
                ReadingMode::Mark(mark) => self.finish_mark(*mark),
                ReadingMode::Comment(comment) => self.become_fork(comment.fork),
                lines if !self.carry.is_empty() => {
                    self.mode = lines;
                    self.read_carry(LineEnding::End);
                }
                ReadingMode::Json(block) => self.finish_json(&block),
                ReadingMode::Fence(fence) => self.close_fence(fence, self.at),
                ReadingMode::Legacy(block) => self.finish_legacy(block),
                ReadingMode::Text => break,
            }
        }
        self.settle_pending(b"", LineEnding::End);
    }

    /// Everything found will start at or behind this offset.
    pub(super) fn settled(&self) -> u64 {
        match &self.mode {
            ReadingMode::Text => {
                let pending = self.pending.as_ref().map(Pending::start);
                pending.or(self.rule.map(|rule| rule.start)).unwrap_or(self.at)
            }
            ReadingMode::Json(block) => block.start,
            ReadingMode::Fence(fence) => fence.start,
            ReadingMode::Legacy(block) => block.start(),
            ReadingMode::Tag(tag) => tag.start,
            ReadingMode::Mark(mark) => mark.tag.start,
            ReadingMode::Comment(comment) => comment.start,
        }
    }

    /// Takes what was found since the last call.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Found> {
        self.found.items.drain(..)
    }

    fn feed_lines(&mut self, data: &[u8]) -> usize {
        if let (ReadingMode::Text, true) = (&self.mode, self.carry.is_empty()) {
            let plain = self.skip_plain_lines(data);
            if plain > 0 {
                self.at += plain as u64;
                self.segment = Segment::at(self.at);
                return plain;
            }
        }
        if self.segment.is_behind(self.at) {
            self.segment = Segment::at(self.at);
            self.doubt |= std::mem::take(&mut self.doubt_next);
        }
        let carried = self.carry.len();
        let room = (self.segment.end - self.at) as usize - carried;
        let reach = &data[..data.len().min(room)];
        let (length, ending) = match self.segment.find_newline(reach, self.at + carried as u64) {
            Some(length) => (length, LineEnding::Newline),
            None if reach.len() == room => (room, LineEnding::Cut),
            None if self.ended => (reach.len(), LineEnding::End),
            None => {
                self.carry.extend_from_slice(reach);
                return reach.len();
            }
        };
        if carried == 0 {
            return self.read_piece(&reach[..length], ending);
        }
        self.carry.extend_from_slice(&reach[..length]);
        self.read_carry(ending);
        length
    }

    fn read_carry(&mut self, ending: LineEnding) {
        let mut carry = std::mem::take(&mut self.carry);
        let used = self.read_piece(&carry, ending);
        self.feed(&carry[used..]);
        if self.carry.capacity() == 0 {
            carry.clear();
            self.carry = carry;
        }
    }

    /// Reads a piece of a line and returns how much of it: the rest is for another mode.
    fn read_piece(&mut self, piece: &[u8], ending: LineEnding) -> usize {
        looked(1);
        let used = match self.mode {
            ReadingMode::Json(_) => self.json_piece(piece, ending),
            ReadingMode::Fence(_) => self.fence_piece(piece, ending),
            ReadingMode::Legacy(_) => self.legacy_piece(piece, ending),
            ReadingMode::Text | ReadingMode::Tag(_) | ReadingMode::Mark(_) | ReadingMode::Comment(_) => {
                self.text_piece(piece, ending)
            }
        };
        self.at += used as u64;
        if used == piece.len() {
            self.segment = Segment::at(self.at);
            self.doubt |= std::mem::take(&mut self.doubt_next);
        }
        if used == piece.len() && ending == LineEnding::Newline {
            (self.line_start, self.line_clean, self.rest) = (true, true, Rest::Text);
            self.doubt = false;
        } else if used > 0 {
            self.line_start = false;
            self.line_clean &= used == piece.len() && line::is_blank(piece);
        }
        used
    }

    fn legacy_piece(&mut self, piece: &[u8], ending: LineEnding) -> usize {
        let text = without_newline(piece);
        let glance = match ending {
            LineEnding::Cut => Glance { ends_block: true, notes: Vec::new() },
            LineEnding::Newline | LineEnding::End => self.glance(text),
        };
        let ReadingMode::Legacy(block) = &mut self.mode else { return 0 };
        let step = match glance.ends_block {
            true => legacy::BlockStep::EndedBefore,
            false => block.line(text, piece, self.at, glance.notes),
        };
        if step == legacy::BlockStep::Goes {
            return piece.len();
        }
        let ReadingMode::Legacy(block) = std::mem::replace(&mut self.mode, ReadingMode::Text) else {
            return 0;
        };
        match step {
            legacy::BlockStep::EndsWith => {
                self.end_legacy(block, self.at + piece.len() as u64);
                self.at -= piece.len() as u64;
                piece.len()
            }
            legacy::BlockStep::EndedBefore | legacy::BlockStep::Goes => {
                self.end_legacy(block, self.at);
                0
            }
        }
    }

    fn finish_legacy(&mut self, block: legacy::LegacyBlock) {
        self.end_legacy(block, self.at);
    }

    /// Takes what a block says, or reads everything between its title and `behind` as text.
    fn end_legacy(&mut self, block: legacy::LegacyBlock, behind: u64) {
        self.at = behind;
        match block.finish() {
            Ok(found) => self.find_all(found),
            Err(malformed) => {
                self.find(Found::Diagnostic(malformed.diagnostic));
                (self.line_start, self.line_clean) = (true, true);
                self.feed_again(&malformed.below, behind - malformed.below.len() as u64);
            }
        }
    }

    /// Decides about a mark that waits for the rest of its line.
    pub(super) fn settle_pending(&mut self, text: &[u8], ending: LineEnding) {
        let alone = ending != LineEnding::Cut && line::is_blank(text);
        match self.pending.take() {
            None => {}
            Some(Pending::Approve(mark)) => {
                self.take_mark(WholeMark { own_line: alone, ..mark });
            }
            Some(Pending::V3 { json, span }) => {
                let mut found = Vec::new();
                if alone && memchr(b'\n', &json).is_none() {
                    json::read_v3(&json, span, &mut found);
                } else {
                    found.push(json::malformed(&json, Protocol::V3, span));
                }
                self.find_all(found);
            }
        }
    }

    /// Takes a whole XML mark; whether it counts.
    pub(super) fn take_mark(&mut self, mark: WholeMark) -> bool {
        let drop = |code| Diagnostic {
            code,
            protocol: Protocol::Xml,
            detail: mark.name.as_str().to_owned(),
            span: mark.span,
        };
        let dropped = if mark.too_large {
            Some(Code::TooLarge)
        } else if mark.name == MarkName::Approve && !mark.own_line {
            Some(Code::NotOnOwnLine)
        } else {
            (self.marks >= MARK_LIMIT).then_some(Code::TooMany)
        };
        if let Some(code) = dropped {
            let diagnostic = drop(code);
            self.find(Found::Diagnostic(diagnostic));
            return false;
        }
        self.marks += 1;
        self.find_all(mark.into_found());
        true
    }

    pub(super) fn find(&mut self, found: Found) {
        self.found.push(found);
    }

    pub(super) fn find_all(&mut self, found: impl IntoIterator<Item = Found>) {
        found.into_iter().for_each(|found| self.find(found));
    }

    pub(super) fn diagnose(&mut self, code: Code, protocol: Protocol, detail: &str, span: Span) {
        self.find(Found::Diagnostic(Diagnostic { code, protocol, detail: detail.to_owned(), span }));
    }
}

/// A line, or as much of it as is looked at together. What was learned of it stays known when a mark in its middle
/// was read in another mode.
#[derive(Debug)]
pub(super) struct Segment {
    /// Where the line is cut if it has not ended by then.
    end: u64,
    /// Where its line feed stands, if it is known.
    newline: Option<u64>,
    /// There is no line feed before this offset.
    looked_to: u64,
    /// Its code spans; `None` until they are needed.
    pub(super) spans: Option<CodeSpans>,
}

impl Segment {
    fn at(start: u64) -> Segment {
        Segment { end: start + LINE_LIMIT as u64, newline: None, looked_to: start, spans: None }
    }

    /// The rest is better read with what follows.
    pub(super) fn end_at(&mut self, at: u64) {
        self.end = self.end.min(at);
    }

    fn is_behind(&self, at: u64) -> bool {
        at >= self.end || self.newline.is_some_and(|newline| newline < at)
    }

    /// How many bytes there are up to the line feed, included, in `data`, which starts at `at`.
    fn find_newline(&mut self, data: &[u8], at: u64) -> Option<usize> {
        if self.newline.is_none() {
            let known = (self.looked_to.saturating_sub(at) as usize).min(data.len());
            self.newline = memchr(b'\n', &data[known..]).map(|index| at + (known + index) as u64);
            self.looked_to = self.looked_to.max(at + data.len() as u64);
        }
        let length = (self.newline? - at) as usize + 1;
        (length <= data.len()).then_some(length)
    }
}

impl Pending {
    fn start(&self) -> u64 {
        match self {
            Pending::Approve(mark) => mark.span.start,
            Pending::V3 { span, .. } => span.start,
        }
    }
}

pub(super) fn without_newline(piece: &[u8]) -> &[u8] {
    let text = piece.strip_suffix(b"\n").unwrap_or(piece);
    text.strip_suffix(b"\r").unwrap_or(text)
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Dead(u16);

impl Dead {
    pub(super) const COMMENT: Dead = Dead(1 << 15);

    /// A tag. Whatever closes the inner one closes the outer one first.
    pub(super) fn tag(name: MarkName) -> Dead {
        Dead(1 << (name as u16))
    }

    /// A tag with a CDATA section right behind it. An outer one does not see closing tags until the section ends, so
    /// only an inner tag with a section of its own, which ends no earlier, cannot be closed before.
    pub(super) fn cdata(name: MarkName) -> Dead {
        Dead(1 << (7 + name as u16))
    }

    pub(super) fn has(self, other: Dead) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn and(self, other: Dead) -> Dead {
        Dead(self.0 | other.0)
    }

    fn without(self, other: Dead) -> Dead {
        Dead(self.0 & !other.0)
    }
}

#[derive(Debug, Default)]
struct Held {
    items: Vec<Found>,
    room: usize,
    /// The span of the first find that had no room.
    lost: Option<Span>,
}

impl Held {
    fn push(&mut self, found: Found) {
        let size = size(&found);
        if size > self.room {
            self.lost.get_or_insert(span(&found));
            return;
        }
        if self.room != usize::MAX {
            self.room -= size;
        }
        self.items.push(found);
    }

    fn followed_by(mut self, next: Held) -> Held {
        let mut lost = next.lost.map(|span| {
            let detail = "held back too long".to_owned();
            Diagnostic { code: Code::TooMany, protocol: Protocol::Xml, detail, span }
        });
        for found in next.items {
            // A smaller find behind the one that had no room may have had some.
            if let Some(lost) = lost.take_if(|lost| lost.span.start < span(&found).start) {
                self.push(Found::Diagnostic(lost));
            }
            self.push(found);
        }
        if let Some(lost) = lost {
            self.push(Found::Diagnostic(lost));
        }
        self
    }
}

pub(super) fn span(found: &Found) -> Span {
    match found {
        Found::Signal(signal) => signal.span,
        Found::Diagnostic(diagnostic) => diagnostic.span,
        Found::Wrapper(span) => *span,
    }
}

pub(super) fn size(found: &Found) -> usize {
    const FIXED: usize = 256;
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    match found {
        Found::Signal(signal) => {
            let Signal { reason, message, key, path, payload, indicators, .. } = signal.as_ref();
            let indicators = indicators.as_ref().map_or(0, |map| map.len() * FIXED);
            FIXED + text(reason) + text(message) + text(key) + text(path) + text(payload) + indicators
        }
        Found::Diagnostic(diagnostic) => FIXED + diagnostic.detail.len(),
        Found::Wrapper(_) => FIXED,
    }
}
