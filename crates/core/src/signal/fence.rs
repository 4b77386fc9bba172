//! Code fences: `pilot-signal` blocks, and all the others.

use super::event::{Code, Diagnostic, Found, Protocol, Span};
use super::json;
use super::line::{self, FenceLine, Indent};
use super::open::{self, WholeMark};
use super::place::PlaceRecord;
use super::reading::{LineEnding, MessageReading, ReadingMode, without_newline};
use super::tag;

/// A larger body is dropped.
const BODY_LIMIT: usize = 1 << 18;
/// A larger fence is not looked at as one that holds nothing but marks.
const MARKS_LIMIT: usize = (1 << 20) + (1 << 18);

/// An open `pilot-signal` fence.
#[derive(Debug)]
pub(super) struct JsonBlock {
    pub(super) start: u64,
    /// Behind its opening line.
    opened: u64,
    fence: FenceLine,
    /// The column its container starts at.
    base: usize,
    body: Vec<u8>,
    too_large: bool,
}

/// Any other open fence.
#[derive(Debug)]
pub(super) struct OtherFence {
    pub(super) start: u64,
    fence: FenceLine,
    base: usize,
    place: PlaceRecord,
    /// The body and its offset, while it may hold nothing but marks.
    marks: Option<(u64, Vec<u8>)>,
}

impl MessageReading {
    /// Opens a fence whose line starts `indent` before offset `start` and ends at `behind`.
    pub(super) fn open_fence(&mut self, fence: FenceLine, base: usize, start: u64, behind: u64) {
        self.mode = if fence.is_v2 {
            ReadingMode::Json(JsonBlock {
                start,
                opened: behind,
                fence,
                base,
                body: Vec::new(),
                too_large: false,
            })
        } else {
            let place = PlaceRecord::new(Code::InFence);
            ReadingMode::Fence(OtherFence { start, fence, base, place, marks: Some((behind, Vec::new())) })
        };
    }

    pub(super) fn json_piece(&mut self, piece: &[u8], ending: LineEnding) -> usize {
        let whole_line = self.line_start && ending != LineEnding::Cut;
        let ReadingMode::Json(block) = &mut self.mode else { return 0 };
        if let Some(end) = closing(block.fence, block.base, piece).filter(|_| whole_line) {
            let span = Span { start: block.start, end: self.at + end as u64 };
            let mut found = Vec::new();
            if block.too_large {
                let detail = "pilot-signal block".to_owned();
                let (code, protocol) = (Code::TooLarge, Protocol::V2);
                found.push(Found::Diagnostic(Diagnostic { code, protocol, detail, span }));
            } else {
                json::read_v2(&block.body, span, &mut found);
            }
            self.mode = ReadingMode::Text;
            self.find_all(found);
        } else if block.too_large || block.body.len() + piece.len() > BODY_LIMIT {
            block.too_large = true;
            block.body = Vec::new();
        } else {
            block.body.extend_from_slice(piece);
        }
        piece.len()
    }

    pub(super) fn finish_json(&mut self, block: &JsonBlock) {
        let span = Span { start: block.start, end: block.opened };
        self.diagnose(Code::Unclosed, Protocol::V2, "pilot-signal block", span);
    }

    pub(super) fn fence_piece(&mut self, piece: &[u8], ending: LineEnding) -> usize {
        let whole_line = self.line_start && ending != LineEnding::Cut;
        let ReadingMode::Fence(open) = &mut self.mode else { return 0 };
        if let Some(end) = closing(open.fence, open.base, piece).filter(|_| whole_line) {
            let end = self.at + end as u64;
            if let ReadingMode::Fence(open) = std::mem::replace(&mut self.mode, ReadingMode::Text) {
                self.close_fence(open, end);
            }
            return piece.len();
        }
        if whole_line && open.ends_before(piece) {
            if let ReadingMode::Fence(open) = std::mem::replace(&mut self.mode, ReadingMode::Text) {
                self.close_fence(open, self.at);
            }
            return 0;
        }
        let ReadingMode::Fence(open) = &mut self.mode else { return 0 };
        let used = piece.len() - if ending == LineEnding::Cut { cut_tag(piece) } else { 0 };
        self.segment.end_at(self.at + used as u64);
        let text = &piece[..used];
        open.keep_marks(text);
        if whole_line {
            open.place.line(without_newline(text), self.at);
        } else {
            open.place.tags(text, self.at);
        }
        used
    }

    /// A fence that ends at `end`: its marks count when it holds nothing else.
    pub(super) fn close_fence(&mut self, open: OtherFence, end: u64) {
        let marks = open.marks.and_then(|(at, body)| open::only_marks(&body, at)).unwrap_or_default();
        if marks.is_empty() {
            self.find_all(open.place.into_found().into_iter().map(Found::Diagnostic));
            return;
        }
        let mut all_count = true;
        marks.into_iter().for_each(|mark: WholeMark| all_count &= self.take_mark(mark));
        if all_count {
            self.find(Found::Wrapper(Span { start: open.start, end }));
        }
    }
}

impl OtherFence {
    /// Whether the fence's list item, and with it the fence, has ended before this line.
    fn ends_before(&self, line: &[u8]) -> bool {
        let indent = Indent::of(line);
        indent.columns < self.base && !line::is_blank(&line[indent.bytes..])
    }

    fn keep_marks(&mut self, text: &[u8]) {
        let Some((at, body)) = &mut self.marks else { return };
        if body.is_empty() && line::is_blank(text) {
            *at += text.len() as u64;
            return;
        }
        body.extend_from_slice(text);
        // Ordinary code shows in its first line that it is none of ours.
        let known = line::known_tag(body.trim_ascii_start()).is_some_and(|(at, _)| at == 0);
        if !known || body.len() > MARKS_LIMIT {
            self.marks = None;
        }
    }
}

/// Where the closing run ends in a line that closes the fence.
fn closing(fence: FenceLine, base: usize, line: &[u8]) -> Option<usize> {
    let text = without_newline(line);
    let indent = Indent::of(text);
    let near = indent.columns <= base + 3;
    let length = fence.closing(&text[indent.bytes..]).filter(|_| near)?;
    Some(indent.bytes + length)
}

/// How many bytes at the end of a piece may be the start of a tag that continues in the next.
pub(super) fn cut_tag(piece: &[u8]) -> usize {
    let longest = tag::PREFIX.len() + 10;
    let tail = &piece[piece.len().saturating_sub(longest)..];
    memchr::memrchr(b'<', tail).map_or(0, |at| tail.len() - at)
}
