//! Text at the top level of the Markdown: what a line is, and what stands in it.

use std::collections::BTreeMap;

use memchr::{memchr, memchr_iter, memchr2};

use super::event::{Code, Found, Protocol, Span};
use super::fence::cut_tag;
use super::json;
use super::legacy;
use super::line::{self, Fence, Indent};
use super::open::{Comment, OpenTag};
use super::place::Place;
use super::reading::{Dead, Ending, Mode, Reading, Rest, without_newline};
use super::tag::{self, Name, Progress};

/// Deeper lists are not told apart.
const LIST_DEPTH: usize = 64;
/// Fences and list marks may stand this far in.
const INDENT_LIMIT: usize = 3;

impl Reading {
    /// Passes over whole lines of nothing but text, as most are; returns how many bytes that were.
    pub(super) fn skip_plain_lines(&mut self, data: &[u8]) -> usize {
        if !self.line_start || self.pending.is_some() {
            return 0;
        }
        let mut used = 0;
        while let Some(length) = line::plain_length(&data[used..]) {
            // Text at the first column ends all lists; a blank line does not.
            if length > 1 {
                self.lists.clear();
            }
            self.rule = None;
            used += length;
        }
        used
    }

    pub(super) fn text_piece(&mut self, piece: &[u8], ending: Ending) -> usize {
        let text = if ending == Ending::Newline { without_newline(piece) } else { piece };
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
    fn line(&mut self, text: &[u8], piece: &[u8], ending: Ending) -> bool {
        let rule_above = self.rule.take();
        let indent = Indent::of(text);
        let Some(&first) = text.get(indent.bytes) else { return ending != Ending::Cut };
        while self.lists.last().is_some_and(|column| *column > indent.columns) {
            self.lists.pop();
        }
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
            _ if ending == Ending::Cut => false,
            b'`' | b'~' => self.fence_line(text, piece, indent, true),
            b'-' | b'+' | b'0'..=b'9' | b'=' => self.rule_or_list(text, piece, indent),
            b'*' => self.title(text, piece, rule_above) || self.rule_or_list(text, piece, indent),
            b'#' => self.title(text, piece, rule_above),
            b'N' if self.title(text, piece, rule_above) => true,
            b'P' | b'E' | b'L' | b'T' | b'S' | b'N' | b'W' => self.banner(text),
            0xe2 => self.rule(text) || self.banner(text),
            _ => false,
        }
    }

    fn span_of(&self, text: &[u8]) -> Span {
        let blanks = text.len() - text.trim_ascii_start().len();
        Span { start: self.at + blanks as u64, end: self.at + text.trim_ascii_end().len() as u64 }
    }

    fn quote(&mut self, text: &[u8], piece: &[u8], ending: Ending) -> usize {
        let kept = if ending == Ending::Cut { cut_tag(text) } else { 0 };
        let mut place = Place::new(Code::InQuote);
        match (self.rest, ending) {
            (Rest::Text, Ending::Newline | Ending::End) => place.quote(text, self.at),
            (Rest::Text | Rest::Quote | Rest::Nothing, _) => place.tags(text, self.at),
        }
        self.find_all(place.into_found().into_iter().map(Found::Diagnostic));
        self.rest = Rest::Quote;
        self.segment.end_at(self.at + (piece.len() - kept) as u64);
        piece.len() - kept
    }

    fn v3_line(&mut self, body: &[u8], indent: Indent, ending: Ending) {
        let start = self.at + indent.bytes as u64;
        let span = Span { start, end: start + body.trim_ascii_end().len() as u64 };
        if ending == Ending::Cut {
            self.diagnose(Code::TooLarge, Protocol::V3, "nav-signal line", span);
            self.rest = Rest::Nothing;
            return;
        }
        let mut found = Vec::new();
        json::read_v3(&body[line::V3_PREFIX.len()..], span, &mut found);
        self.find_all(found);
    }

    /// A fence at `indent`; the one-line form must start its line.
    fn fence_line(&mut self, text: &[u8], piece: &[u8], indent: Indent, starts_line: bool) -> bool {
        let base = self.lists.last().copied().unwrap_or(0);
        let body = &text[indent.bytes..];
        if indent.columns > base + INDENT_LIMIT {
            return false;
        }
        let start = self.at + indent.bytes as u64;
        if let Some(json) = line::one_line_v2(body).filter(|_| starts_line) {
            let span = Span { start, end: start + body.trim_ascii_end().len() as u64 };
            let mut found = Vec::new();
            json::read_v2(json, span, &mut found);
            self.find_all(found);
            return true;
        }
        let Some(fence) = Fence::open(body) else { return false };
        self.open_fence(fence, base, start, self.at + piece.len() as u64);
        true
    }

    fn rule_or_list(&mut self, text: &[u8], piece: &[u8], indent: Indent) -> bool {
        if self.rule(text) {
            return true;
        }
        let mut content = indent;
        loop {
            let base = self.lists.last().copied().unwrap_or(0);
            let near = content.columns <= base + INDENT_LIMIT;
            let Some(item) = line::list_item(text, content).filter(|_| near && self.lists.len() < LIST_DEPTH)
            else {
                return false;
            };
            self.lists.push(item.columns);
            content = item;
            if matches!(text.get(content.bytes), Some(b'`' | b'~')) {
                return self.fence_line(text, piece, content, false);
            }
        }
    }

    fn rule(&mut self, text: &[u8]) -> bool {
        let is_rule = line::is_rule(text);
        if is_rule {
            self.rule = Some(self.span_of(text));
        }
        is_rule
    }

    fn title(&mut self, text: &[u8], piece: &[u8], rule_above: Option<Span>) -> bool {
        let is_title = line::is_title(text);
        if is_title {
            let title = self.span_of(text);
            let start = rule_above.map_or(title.start, |rule| rule.start);
            self.mode = Mode::Legacy(legacy::Block::new(start, title));
            debug_assert!(!piece.is_empty());
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
    fn inline(&mut self, text: &[u8], piece: &[u8], ending: Ending) -> usize {
        let cut = ending == Ending::Cut;
        if !cut && !has_opener(text) {
            return piece.len();
        }
        let at = self.at;
        let (spans, text, end) = match self.segment.spans.take() {
            Some(spans) => (spans, text, piece.len()),
            None => {
                let spans = CodeSpans::of(text, at);
                let kept = if cut { spans.unfinished(text, at) } else { 0 };
                self.segment.end_at(at + (piece.len() - kept) as u64);
                (spans, &text[..text.len() - kept], piece.len() - kept)
            }
        };
        let used = self.inline_with(&spans, text, piece, ending).unwrap_or(end);
        self.segment.spans = Some(spans);
        used
    }

    /// How much was read before another mode took over, if one did.
    fn inline_with(&mut self, spans: &CodeSpans, text: &[u8], piece: &[u8], ending: Ending) -> Option<usize> {
        let mut from = 0;
        while let Some(next) = memchr2(b'<', b'`', text.get(from..)?) {
            let here = from + next;
            from = if text[here] == b'`' {
                self.code_span(text, here, spans)
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

    /// Passes over a code span, or over backticks that are none.
    fn code_span(&mut self, text: &[u8], here: usize, spans: &CodeSpans) -> usize {
        let run = run_length(text, here);
        let Some(close) = spans.closing(self.at + here as u64) else { return here + run };
        let close = (close - self.at) as usize;
        let mut place = Place::new(Code::InCodeSpan);
        place.tags(&text[here + run..close], self.at + (here + run) as u64);
        self.find_all(place.into_found().into_iter().map(Found::Diagnostic));
        close + run
    }

    fn open_comment(&mut self, text: &[u8], here: usize) {
        let starts_line = self.line_clean && line::is_blank(&text[..here]);
        let at = self.at + here as u64;
        let fork = self.fork(at + 4, Dead::COMMENT);
        self.mode = Mode::Comment(Box::new(Comment::new(at, starts_line, fork)));
    }

    fn tag(&mut self, text: &[u8], here: usize, piece: &[u8], ending: Ending) -> Tag {
        let word = tag::word(&text[here + tag::PREFIX.len()..]);
        let end = here + tag::PREFIX.len() + word.len();
        let Some(name) = Name::parse(word) else {
            if !word.is_empty() {
                let cut_off = end == text.len() && ending == Ending::End && tag::may_become_known(word);
                let (code, detail) =
                    if cut_off { (Code::Unclosed, "tag") } else { (Code::UnknownTag, tag::nearest(word)) };
                let span = Span { start: self.at + here as u64, end: self.at + end as u64 };
                self.diagnose(code, Protocol::Xml, detail, span);
            }
            return Tag::Text(end);
        };
        let own_line = self.line_clean && line::is_blank(&text[..here]);
        let mut open = OpenTag::new(name, self.at + here as u64, own_line);
        let behind = &piece[end..];
        let (length, progress) = open.feed(behind);
        if progress == Progress::More && ending != Ending::End {
            self.mode = Mode::Tag(open);
            return Tag::Opened(piece.len());
        }
        match self.end_tag(open, progress) {
            true => Tag::Opened(end + length),
            false => Tag::Text(end),
        }
    }
}

/// What became of a `<pilot:`.
enum Tag {
    /// It is text up to here.
    Text(usize),
    /// It was read up to here, and what follows is for another mode, or at least not the same text.
    Opened(usize),
}

/// Whether a comment or a tag of ours may start in the text.
fn has_opener(text: &[u8]) -> bool {
    memchr_iter(b'<', text).any(|at| line::is_opener(&text[at..]))
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

    /// How many bytes at the end are a code span or a tag that may go on: of a code span half the text at most.
    fn unfinished(&self, text: &[u8], at: u64) -> usize {
        let mut from = 0;
        while let Some(next) = memchr(b'`', &text[from..]) {
            let here = from + next;
            let run = run_length(text, here);
            from = match self.closing(at + here as u64) {
                Some(close) => (close - at) as usize + run,
                None if here >= text.len() / 2 => return text.len() - here,
                None => here + run,
            };
        }
        cut_tag(text).min(text.len() - from)
    }
}
