//! Text at the top level of the Markdown: what a line is, and what stands in it.

use std::collections::BTreeMap;

use memchr::memchr_iter;

use super::event::{Code, Diagnostic, Found, Protocol, Span};
use super::fence::cut_tag;
use super::json;
use super::legacy;
use super::line::{self, FenceLine, Indent};
use super::lists::Content;
use super::look::{looked, memchr, memchr2};
use super::open::{Comment, OpenTag};
use super::place::PlaceRecord;
use super::reading::{Dead, LineEnding, MessageReading, ReadingMode, Rest, without_newline};
use super::tag::{self, MarkName, TagProgress};

impl MessageReading {
    /// Passes over whole lines of nothing but text, as most are; returns how many bytes that were.
    pub(super) fn skip_plain_lines(&mut self, data: &[u8]) -> usize {
        if !self.line_start || self.pending.is_some() {
            return 0;
        }
        let end = self.next_opener(data);
        let plain = line::plain_lines(&data[..end]);
        // Text at the first column ends all lists; a blank line does not.
        if !plain.empty {
            self.lists.clear();
        }
        if plain.bytes > 0 {
            self.rule = None;
        }
        plain.bytes
    }

    /// Where in `data`, which starts at `at`, a comment or a tag of ours may start, or its end. No byte is looked at twice.
    fn next_opener(&mut self, data: &[u8]) -> usize {
        let known = self.no_opener_before.saturating_sub(self.at).min(data.len() as u64) as usize;
        let found = line::opener(&data[known..]).map(|at| known + at);
        // One that is cut off at the end stands on a line that has no end yet.
        let clear = found.unwrap_or(data.len().saturating_sub(tag::PREFIX.len() - 1).max(known));
        self.no_opener_before = self.no_opener_before.max(self.at + clear as u64);
        found.unwrap_or(data.len())
    }

    pub(super) fn text_piece(&mut self, piece: &[u8], ending: LineEnding) -> usize {
        let text = if ending == LineEnding::Newline { without_newline(piece) } else { piece };
        if self.pending.is_some() {
            self.settle_pending(text, ending);
        }
        match self.rest {
            Rest::Text => {}
            Rest::Nothing => return piece.len(),
            Rest::Quote => return self.quote(text, piece, ending),
        }
        if self.line_start && self.line(text, piece, ending) {
            return piece.len();
        }
        self.inline(text, piece, ending)
    }

    /// Looks at a line from its start; true when nothing in it is left to look at.
    fn line(&mut self, text: &[u8], piece: &[u8], ending: LineEnding) -> bool {
        let rule_above = self.rule.take();
        let indent = Indent::of(text);
        let Some(&first) = text.get(indent.bytes) else { return ending != LineEnding::Cut };
        let content = self.lists.enter(text, indent);
        let body = &text[indent.bytes..];
        match first {
            b'>' => {
                self.quote(text, piece, ending);
                true
            }
            b'n' if body.starts_with(line::V3_PREFIX) => {
                self.v3_line(body, indent, ending);
                true
            }
            _ if ending == LineEnding::Cut => false,
            b'`' | b'~' => self.fence_line(text, piece, content),
            b'-' | b'=' if self.rule(text) => true,
            b'-' | b'+' | b'0'..=b'9' => self.fence_line(text, piece, content),
            b'*' => self.title(text, rule_above) || self.rule(text) || self.fence_line(text, piece, content),
            b'#' => self.title(text, rule_above),
            b'N' if self.title(text, rule_above) => true,
            b'P' | b'E' | b'L' | b'T' | b'S' | b'N' | b'W' => self.banner(text),
            0xe2 => self.rule(text) || self.banner(text),
            _ => false,
        }
    }

    fn span_of(&self, text: &[u8]) -> Span {
        let blanks = text.len() - text.trim_ascii_start().len();
        Span { start: self.at + blanks as u64, end: self.at + text.trim_ascii_end().len() as u64 }
    }

    fn quote(&mut self, text: &[u8], piece: &[u8], ending: LineEnding) -> usize {
        let kept = if ending == LineEnding::Cut { cut_tag(text) } else { 0 };
        let mut place = PlaceRecord::new(Code::InQuote);
        match (self.rest, ending) {
            (Rest::Text, LineEnding::Newline | LineEnding::End) => place.quote(text, self.at),
            (Rest::Text | Rest::Quote | Rest::Nothing, _) => place.tags(text, self.at),
        }
        self.find_all(place.into_found().into_iter().map(Found::Diagnostic));
        self.rest = Rest::Quote;
        self.segment.end_at(self.at + (piece.len() - kept) as u64);
        piece.len() - kept
    }

    fn v3_line(&mut self, body: &[u8], indent: Indent, ending: LineEnding) {
        let start = self.at + indent.bytes as u64;
        let span = Span { start, end: start + body.trim_ascii_end().len() as u64 };
        if ending == LineEnding::Cut {
            self.diagnose(Code::TooLarge, Protocol::V3, "nav-signal line", span);
            self.rest = Rest::Nothing;
            return;
        }
        let mut found = Vec::new();
        json::read_v3(&body[line::V3_PREFIX.len()..], span, &mut found);
        self.find_all(found);
    }

    /// A fence where the content of the line starts.
    fn fence_line(&mut self, text: &[u8], piece: &[u8], content: Content) -> bool {
        let body = &text[content.indent.bytes..];
        let start = self.at + content.indent.bytes as u64;
        match self.lists.is_near(content.indent).then(|| OpenFence::read(body, content)).flatten() {
            None => false,
            Some(OpenFence::OneLine(json)) => {
                let span = Span { start, end: start + body.trim_ascii_end().len() as u64 };
                let mut found = Vec::new();
                json::read_v2(json, span, &mut found);
                self.find_all(found);
                true
            }
            Some(OpenFence::Fence(fence)) => {
                self.open_fence(fence, self.lists.base(), start, self.at + piece.len() as u64);
                true
            }
        }
    }

    /// What a line of a status block holds besides a field.
    pub(super) fn glance(&mut self, text: &[u8]) -> Glance {
        let indent = Indent::of(text);
        let Some(first) = text.get(indent.bytes) else { return Glance::default() };
        if *first == b'>' {
            let mut place = PlaceRecord::new(Code::InQuote);
            place.quote(text, self.at);
            return Glance { ends_block: false, notes: place.into_found() };
        }
        let content = self.lists.enter(text, indent);
        let fence = OpenFence::read(&text[content.indent.bytes..], content);
        if fence.is_some() && self.lists.is_near(content.indent) {
            return Glance { ends_block: true, notes: Vec::new() };
        }
        self.glance_inside(text)
    }

    fn glance_inside(&mut self, text: &[u8]) -> Glance {
        let mut glance = Glance::default();
        if !has_opener(text) {
            return glance;
        }
        let spans = CodeSpans::of(text, self.at);
        let mut from = 0;
        while let Some(next) = memchr2(b'<', b'`', text.get(from..).unwrap_or_default()) {
            let here = from + next;
            let behind = &text[here..];
            from = if text[here] == b'`' {
                let (end, found) = code_span(text, here, &spans, self.at);
                glance.notes.extend(found);
                end
            } else if behind.starts_with(b"<!--") && !self.dead.has(Dead::COMMENT) {
                return Glance { ends_block: true, notes: Vec::new() };
            } else if let Some(behind) = behind.strip_prefix(tag::PREFIX) {
                let word = tag::word(behind);
                if MarkName::parse(word).is_some() {
                    return Glance { ends_block: true, notes: Vec::new() };
                }
                let end = here + tag::PREFIX.len() + word.len();
                let span = Span { start: self.at + here as u64, end: self.at + end as u64 };
                if !word.is_empty() {
                    glance.notes.push(unknown_tag(word, span));
                }
                end
            } else {
                here + 1
            };
        }
        glance
    }

    fn rule(&mut self, text: &[u8]) -> bool {
        let is_rule = line::is_rule(text);
        if is_rule {
            self.rule = Some(self.span_of(text));
        }
        is_rule
    }

    fn title(&mut self, text: &[u8], rule_above: Option<Span>) -> bool {
        let is_title = line::is_title(text);
        if is_title {
            let title = self.span_of(text);
            let start = rule_above.map_or(title.start, |rule| rule.start);
            self.mode = ReadingMode::Legacy(legacy::LegacyBlock::new(start, title));
        }
        is_title
    }

    fn banner(&mut self, text: &[u8]) -> bool {
        let banner = line::banner(text, self.span_of(text));
        let is_banner = banner.is_some();
        self.find_all(banner.map(|signal| Found::Signal(Box::new(signal))));
        is_banner
    }

    /// Looks for what may stand anywhere in a line: comments and tags, but not those in code spans.
    fn inline(&mut self, text: &[u8], piece: &[u8], ending: LineEnding) -> usize {
        let cut = ending == LineEnding::Cut;
        if !cut && !has_opener(text) {
            return piece.len();
        }
        let at = self.at;
        let (spans, text, end) = match self.segment.spans.take() {
            Some(spans) => (spans, text, piece.len()),
            None => {
                let spans = CodeSpans::of(text, at);
                let kept = if cut { self.unfinished(&spans, text) } else { 0 };
                if kept > 0 {
                    self.segment.end_at(at + (piece.len() - kept) as u64);
                }
                (spans, &text[..text.len() - kept], piece.len() - kept)
            }
        };
        let used = self.inline_with(&spans, text, piece, ending).unwrap_or(end);
        self.segment.spans = Some(spans);
        used
    }

    /// How much of a cut text is better read with what follows, and whether backticks were left behind for good.
    fn unfinished(&mut self, spans: &CodeSpans, text: &[u8]) -> usize {
        let unfinished = spans.unfinished(text, self.at);
        self.doubt_next = unfinished.left_behind;
        unfinished.kept
    }

    /// How much was read before another mode took over, if one did.
    fn inline_with(
        &mut self,
        spans: &CodeSpans,
        text: &[u8],
        piece: &[u8],
        ending: LineEnding,
    ) -> Option<usize> {
        let mut from = 0;
        while let Some(next) = memchr2(b'<', b'`', text.get(from..)?) {
            let here = from + next;
            from = if text[here] == b'`' {
                let (end, found) = code_span(text, here, spans, self.at);
                self.find_all(found.into_iter().map(Found::Diagnostic));
                end
            } else if self.doubt {
                self.doubtful(text, here)
            } else if text[here..].starts_with(b"<!--") && !self.dead.has(Dead::COMMENT) {
                self.open_comment(text, here);
                return Some(here + 4);
            } else if text[here..].starts_with(tag::PREFIX) {
                match self.tag(text, here, piece, ending) {
                    Tag::Text(end) => end,
                    Tag::Opened(end) => return Some(end),
                }
            } else {
                here + 1
            };
        }
        None
    }

    /// A tag on a line too long to tell whether it stands in a code span: it does not count.
    fn doubtful(&mut self, text: &[u8], here: usize) -> usize {
        let mut place = PlaceRecord::new(Code::InCodeSpan);
        let end = (here + tag::PREFIX.len() + 16).min(text.len());
        place.tags(&text[here..end], self.at + here as u64);
        self.find_all(place.into_found().into_iter().map(Found::Diagnostic));
        here + 1
    }

    fn open_comment(&mut self, text: &[u8], here: usize) {
        let starts_line = self.line_clean && line::is_blank(&text[..here]);
        let at = self.at + here as u64;
        let fork = self.fork(at + 4, Dead::COMMENT);
        self.mode = ReadingMode::Comment(Box::new(Comment::new(at, starts_line, fork)));
    }

    fn tag(&mut self, text: &[u8], here: usize, piece: &[u8], ending: LineEnding) -> Tag {
        let word = tag::word(&text[here + tag::PREFIX.len()..]);
        let end = here + tag::PREFIX.len() + word.len();
        let Some(name) = MarkName::parse(word) else {
            let span = Span { start: self.at + here as u64, end: self.at + end as u64 };
            if end == text.len()
                && ending == LineEnding::End
                && !word.is_empty()
                && tag::may_become_known(word)
            {
                self.diagnose(Code::Unclosed, Protocol::Xml, "tag", span);
            } else if !word.is_empty() {
                self.find(Found::Diagnostic(unknown_tag(word, span)));
            }
            return Tag::Text(end);
        };
        let own_line = self.line_clean && line::is_blank(&text[..here]);
        let mut open = OpenTag::new(name, self.at + here as u64, own_line);
        let behind = &piece[end..];
        let (length, progress) = open.feed(behind);
        if progress == TagProgress::More && ending != LineEnding::End {
            self.mode = ReadingMode::Tag(open);
            return Tag::Opened(piece.len());
        }
        match self.end_tag(open, progress) {
            true => Tag::Opened(end + length),
            false => Tag::Text(end),
        }
    }
}

enum Tag {
    /// It is text up to here.
    Text(usize),
    /// It was read up to here, and what follows is for another mode, or at least not the same text.
    Opened(usize),
}

enum OpenFence<'a> {
    /// The one-line form: its JSON.
    OneLine(&'a [u8]),
    Fence(FenceLine),
}

impl<'a> OpenFence<'a> {
    /// Reads a line from where its content starts; the one-line form must start its line.
    fn read(body: &'a [u8], content: Content) -> Option<OpenFence<'a>> {
        if !matches!(body.first(), Some(b'`' | b'~')) {
            return None;
        }
        let one_line = line::one_line_v2(body).filter(|_| !content.marked);
        one_line.map(OpenFence::OneLine).or_else(|| FenceLine::open(body).map(OpenFence::Fence))
    }
}

/// What a line of a status block holds besides a field.
#[derive(Debug, Default)]
pub(super) struct Glance {
    /// A fence, a comment or a tag: the block is over.
    pub(super) ends_block: bool,
    /// Samples that do not count.
    pub(super) notes: Vec<Diagnostic>,
}

fn unknown_tag(word: &[u8], span: Span) -> Diagnostic {
    let detail = tag::nearest(word).to_owned();
    Diagnostic { code: Code::UnknownTag, protocol: Protocol::Xml, detail, span }
}

/// Where a code span ends, or backticks that open none, and the samples in it.
fn code_span(text: &[u8], here: usize, spans: &CodeSpans, at: u64) -> (usize, Vec<Diagnostic>) {
    let run = run_length(text, here);
    let Some(close) = spans.closing(at + here as u64) else { return (here + run, Vec::new()) };
    let close = (close - at) as usize;
    let mut place = PlaceRecord::new(Code::InCodeSpan);
    place.tags(&text[here + run..close], at + (here + run) as u64);
    (close + run, place.into_found())
}

/// Whether a comment or a tag of ours may start in the text.
fn has_opener(text: &[u8]) -> bool {
    let found = memchr_iter(b'<', text).find(|at| line::is_opener(&text[*at..]));
    looked(found.unwrap_or(text.len()));
    found.is_some()
}

fn run_length(text: &[u8], at: usize) -> usize {
    text[at..].iter().take_while(|byte| **byte == b'`').count()
}

/// The backtick runs of a segment that another run of their length follows.
#[derive(Debug)]
pub(super) struct CodeSpans {
    /// Offset of a run, offset of the next one as long.
    pairs: Vec<(u64, u64)>,
}

impl CodeSpans {
    fn of(text: &[u8], at: u64) -> CodeSpans {
        let mut pairs = Vec::new();
        let mut open: BTreeMap<usize, u64> = BTreeMap::new();
        let mut from = 0;
        while let Some(next) = memchr(b'`', &text[from..]) {
            let here = from + next;
            let run = run_length(text, here);
            if let Some(before) = open.insert(run, at + here as u64) {
                pairs.push((before, at + here as u64));
            }
            from = here + run;
        }
        pairs.sort_unstable();
        CodeSpans { pairs }
    }

    /// Where the span that the run at `start` opens would close.
    fn closing(&self, start: u64) -> Option<u64> {
        let index = self.pairs.binary_search_by_key(&start, |pair| pair.0).ok()?;
        Some(self.pairs[index].1)
    }

    /// How much of an unfinished text is better read with what follows: of a code span half the text at most.
    fn unfinished(&self, text: &[u8], at: u64) -> Unfinished {
        let (mut from, mut left_behind) = (0, false);
        while let Some(next) = memchr(b'`', &text[from..]) {
            let here = from + next;
            let run = run_length(text, here);
            from = match self.closing(at + here as u64) {
                Some(close) => (close - at) as usize + run,
                None if here >= text.len() / 2 => return Unfinished { kept: text.len() - here, left_behind },
                None => {
                    left_behind = true;
                    here + run
                }
            };
        }
        Unfinished { kept: cut_tag(text).min(text.len() - from), left_behind }
    }
}

struct Unfinished {
    /// Bytes at the end of the text.
    kept: usize,
    /// Backticks before them may open a code span that never ends.
    left_behind: bool,
}
