//! The beginning and the end of something that may be endless.

use std::collections::VecDeque;

const HALF: usize = 32 * 1024;

/// The first and the last bytes of a stream, 32 KiB each unless told, and how much is missing between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    most_head: usize,
    most_tail: usize,
}

impl Default for Excerpt {
    fn default() -> Self {
        Self::of(HALF, HALF)
    }
}

impl Excerpt {
    pub fn of(most_head: usize, most_tail: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), total: 0, most_head, most_tail }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.most_head - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.most_tail)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.most_tail);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn missing(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Both ends as text, with a line between them that says what is missing.
    pub fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.missing() > 0 {
            bytes.extend_from_slice(format!("\n[... {} bytes not kept ...]\n", self.missing()).as_bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_kept_however_the_stream_is_cut() {
        let stream: Vec<u8> = (0..HALF * 3 + 17).map(|n| b'a' + (n % 23) as u8).collect();
        let mut whole = Excerpt::default();
        whole.push(&stream);
        for size in [1, 7, HALF, HALF + 1, HALF * 2] {
            let mut pieces = Excerpt::default();
            stream.chunks(size).for_each(|piece| pieces.push(piece));
            assert_eq!(pieces, whole, "{size}");
        }
        assert_eq!(whole.total(), stream.len() as u64);
        assert_eq!(whole.missing(), (HALF + 17) as u64);
        assert!(whole.text().contains("\n[... 32785 bytes not kept ...]\n"));
        assert!(whole.text().ends_with(std::str::from_utf8(&stream[stream.len() - HALF..]).unwrap()));
    }

    #[test]
    fn the_ends_have_the_length_that_is_asked_for() {
        let mut excerpt = Excerpt::of(2, 3);
        excerpt.push(b"abcdefgh");
        assert_eq!(excerpt.text(), "ab\n[... 3 bytes not kept ...]\nfgh");
    }

    #[test]
    fn a_short_stream_is_whole() {
        let mut short = Excerpt::default();
        short.push(b"a");
        short.push("ü".as_bytes());
        assert_eq!((short.text().as_str(), short.missing()), ("aü", 0));
    }
}
