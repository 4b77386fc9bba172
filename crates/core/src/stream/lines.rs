//! Cutting a byte stream into lines, in bounded memory.
//!
//! Knows nothing of what a line says. A line longer than the limit is not kept: it is counted, drained, and reported
//! once when it ends. Every byte is looked at once, however small the pieces it comes in.

/// The longest line that is kept, in bytes.
pub const MAX_LINE: usize = 8 * 1024 * 1024;

/// Room that is kept between lines; more is given back after a long line.
const KEPT_CAPACITY: usize = 256 * 1024;

/// One line of an agent's output, without its line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamLine<'a> {
    Whole(&'a [u8]),
    /// A line longer than the limit; nothing of it was kept.
    Oversized {
        bytes: u64,
    },
}

impl<'a> From<&'a [u8]> for StreamLine<'a> {
    fn from(bytes: &'a [u8]) -> StreamLine<'a> {
        StreamLine::Whole(bytes)
    }
}

impl<'a> From<&'a str> for StreamLine<'a> {
    fn from(text: &'a str) -> StreamLine<'a> {
        StreamLine::Whole(text.as_bytes())
    }
}

/// Cuts what is pushed into lines; the pieces may be cut anywhere.
#[derive(Debug)]
pub struct LineReader {
    limit: usize,
    /// The begin of a line whose end has not come yet; never longer than `limit`.
    carry: Vec<u8>,
    /// Length so far of a line that outgrew the limit.
    overgrown: Option<u64>,
}

impl Default for LineReader {
    fn default() -> LineReader {
        LineReader::new()
    }
}

impl LineReader {
    /// A reader that keeps lines up to [`MAX_LINE`].
    pub fn new() -> LineReader {
        LineReader::with_limit(MAX_LINE)
    }

    /// A reader that keeps lines up to `limit` bytes, a carriage return at the end included.
    pub fn with_limit(limit: usize) -> LineReader {
        LineReader { limit, carry: Vec::new(), overgrown: None }
    }

    /// Takes the next piece and hands out every line that ends in it; a line that lies whole inside the piece is not
    /// copied.
    pub fn push(&mut self, chunk: &[u8], sink: &mut dyn FnMut(StreamLine<'_>)) {
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', chunk) {
            self.end_line(&chunk[start..newline], sink);
            start = newline + 1;
        }
        self.keep(&chunk[start..]);
    }

    /// Hands out the last line when it has no newline.
    pub fn finish(&mut self, sink: &mut dyn FnMut(StreamLine<'_>)) {
        if !self.carry.is_empty() || self.overgrown.is_some() {
            self.end_line(&[], sink);
        }
    }

    fn end_line(&mut self, tail: &[u8], sink: &mut dyn FnMut(StreamLine<'_>)) {
        if self.overgrown.is_none() && self.carry.is_empty() {
            return sink(self.line(tail));
        }
        self.keep(tail);
        match self.overgrown.take() {
            Some(bytes) => sink(StreamLine::Oversized { bytes }),
            None => sink(self.line(&self.carry)),
        }
        self.carry.clear();
        self.carry.shrink_to(KEPT_CAPACITY);
    }

    fn line<'a>(&self, bytes: &'a [u8]) -> StreamLine<'a> {
        if bytes.len() > self.limit {
            return StreamLine::Oversized { bytes: bytes.len() as u64 };
        }
        StreamLine::Whole(bytes.strip_suffix(b"\r").unwrap_or(bytes))
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(length) = &mut self.overgrown {
            *length += bytes.len() as u64;
            return;
        }
        let length = self.carry.len() + bytes.len();
        if length > self.limit {
            self.overgrown = Some(length as u64);
            self.carry = Vec::new();
            return;
        }
        if length > self.carry.capacity() {
            // Doubling, but never past the limit: the bound on memory is the limit itself.
            let wanted = length.max(2 * self.carry.capacity()).min(self.limit);
            self.carry.reserve_exact(wanted - self.carry.len());
        }
        self.carry.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LineReader, StreamLine};

    #[derive(Debug, PartialEq)]
    enum Owned {
        Whole(Vec<u8>),
        Oversized(u64),
    }

    fn read<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Owned> {
        let mut reader = LineReader::with_limit(limit);
        let mut lines = Vec::new();
        let mut sink = |line: StreamLine<'_>| {
            lines.push(match line {
                StreamLine::Whole(bytes) => Owned::Whole(bytes.to_vec()),
                StreamLine::Oversized { bytes } => Owned::Oversized(bytes),
            });
        };
        for chunk in chunks {
            reader.push(chunk, &mut sink);
            assert!(reader.carry.capacity() <= limit);
        }
        reader.finish(&mut sink);
        reader.finish(&mut sink);
        lines
    }

    fn whole(text: &str) -> Owned {
        Owned::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_end_at_newlines_with_or_without_a_carriage_return() {
        for (input, expected) in [
            ("", vec![]),
            ("a", vec![whole("a")]),
            ("a\n", vec![whole("a")]),
            ("a\r\nb\r\r\nc\r", vec![whole("a"), whole("b\r"), whole("c")]),
            ("\n\nx\ry\n", vec![whole(""), whole(""), whole("x\ry")]),
        ] {
            assert_eq!(read(8, [input.as_bytes()]), expected, "{input:?}");
        }
    }

    #[test]
    fn a_line_over_the_limit_is_counted_once_and_the_next_one_is_whole() {
        let input = b"12345678\n123456789\n1234567890123\r\nok\n123456789";
        let expected = vec![
            whole("12345678"),
            Owned::Oversized(9),
            Owned::Oversized(14),
            whole("ok"),
            Owned::Oversized(9),
        ];
        assert_eq!(read(8, [&input[..]]), expected);
        assert_eq!(read(8, input.chunks(1)), expected);
        assert_eq!(read(8, input.chunks(3)), expected);
    }

    #[test]
    fn a_line_inside_one_piece_is_not_copied() {
        let mut reader = LineReader::new();
        let chunk = b"one\ntwo\n".to_vec();
        let mut inside = 0;
        reader.push(&chunk, &mut |line| {
            if let StreamLine::Whole(bytes) = line {
                inside += usize::from(chunk.as_ptr_range().contains(&bytes.as_ptr()));
            }
        });
        assert_eq!((inside, reader.carry.capacity()), (2, 0));
    }

    #[test]
    fn a_very_long_line_costs_no_memory() {
        let mut reader = LineReader::new();
        let piece = vec![b'x'; 1 << 20];
        let mut lines = Vec::new();
        for _ in 0..40 {
            reader.push(&piece, &mut |_| ());
            assert!(reader.carry.capacity() <= super::MAX_LINE);
        }
        assert_eq!(reader.carry.capacity(), 0);
        reader.push(b"\n", &mut |line| lines.push(format!("{line:?}")));
        assert_eq!(lines, [format!("Oversized {{ bytes: {} }}", 40 << 20)]);
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same_lines(
            input in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(1..20usize, 0..60),
        ) {
            let mut chunks = Vec::new();
            let mut rest = &input[..];
            for cut in cuts {
                let (head, tail) = rest.split_at(cut.min(rest.len()));
                chunks.push(head);
                rest = tail;
            }
            chunks.push(rest);
            prop_assert_eq!(read(10, chunks), read(10, [&input[..]]));
        }
    }
}
