//! Output of an agent that is not redacted yet. In memory only: it leaves as clean bytes, or not at all.
//!
//! Behind the head of a recording most bytes are dropped before they are written, so searching each of them for secrets
//! would be wasted. They wait here raw, the oldest are dropped, and the rest is redacted when it is written. Where bytes are
//! missing a secret may be cut in two: as many bytes as a secret is long are not kept there.

use std::collections::VecDeque;

use pilot_core::redact::{Redactor, Secrets};

use crate::recorder::PIECE;
use crate::stream::StreamKind;

/// Raw output, in the order it came.
#[derive(Debug)]
pub(crate) struct Backlog {
    pieces: VecDeque<Piece>,
    bytes: usize,
    /// The oldest piece is dropped when so many bytes are behind it.
    enough: usize,
    /// How many bytes behind a gap may be part of a secret.
    margin: usize,
    stdout: Track,
    stderr: Track,
}

/// A piece of one stream. [`Backlog::push`] makes them raw, [`Backlog::settle`] makes them clean.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) at_ms: u64,
    pub(crate) kind: StreamKind,
    pub(crate) bytes: Vec<u8>,
}

/// One of the agent's two streams.
#[derive(Debug)]
struct Track {
    redactor: Redactor,
    /// Its bytes among the pieces.
    waiting: usize,
    /// The redactor began behind a gap: it is reliable after so many bytes more.
    unsure: usize,
}

impl Backlog {
    /// Holds enough for `kept` clean bytes.
    pub(crate) fn new(secrets: &Secrets, kept: usize) -> Backlog {
        let track = || Track { redactor: Redactor::new(secrets), waiting: 0, unsure: 0 };
        // Once to be past the secret that was cut, once more to be past what its rest may be mistaken for.
        let margin = 2 * secrets.reach();
        let enough = kept.saturating_add(2 * margin);
        Backlog { pieces: VecDeque::new(), bytes: 0, enough, margin, stdout: track(), stderr: track() }
    }

    /// Redacts at once what is not to wait.
    pub(crate) fn redact(&mut self, kind: StreamKind, bytes: &[u8], clean: &mut Vec<u8>) {
        match self.track(kind) {
            Some(track) => track.redactor.push(bytes, clean),
            None => clean.extend_from_slice(bytes),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Takes raw bytes, joined to the last piece if they came within `join_ms`; a note is clean already. Returns how many
    /// bytes were dropped for them.
    pub(crate) fn push(&mut self, at_ms: u64, kind: StreamKind, bytes: &[u8], join_ms: u64) -> u64 {
        let mut dropped = 0;
        for bytes in bytes.chunks(PIECE) {
            self.bytes += bytes.len();
            if let Some(track) = self.track(kind) {
                track.waiting += bytes.len();
            }
            let joins = |last: &&mut Piece| {
                last.kind == kind
                    && kind != StreamKind::Note
                    && last.bytes.len() + bytes.len() <= PIECE
                    && at_ms.saturating_sub(last.at_ms) < join_ms
            };
            if let Some(last) = self.pieces.back_mut().filter(joins) {
                last.bytes.extend_from_slice(bytes);
            } else {
                let mut room = Vec::new();
                while self.pieces.front().is_some_and(|oldest| self.bytes - oldest.bytes.len() >= self.enough)
                {
                    dropped += self.drop_oldest(&mut room);
                }
                room.clear();
                room.extend_from_slice(bytes);
                self.pieces.push_back(Piece { at_ms, kind, bytes: room });
            }
        }
        dropped
    }

    /// Returns everything that waits, redacted, and how many bytes were dropped because they may be part of a secret.
    pub(crate) fn settle(&mut self) -> (Vec<Piece>, u64) {
        let (mut clean, mut dropped) = (Vec::new(), 0);
        while let Some(Piece { at_ms, kind, bytes }) = self.pieces.pop_front() {
            self.bytes -= bytes.len();
            let bytes = match self.track(kind) {
                None => bytes,
                Some(track) => {
                    let mut out = Vec::with_capacity(bytes.len());
                    dropped += track.clean(&bytes, &mut out);
                    out
                }
            };
            clean.push(Piece { at_ms, kind, bytes });
        }
        (clean, dropped)
    }

    /// Returns what the redactors still hold back at the end of the output. Only when nothing waits.
    pub(crate) fn finish(&mut self) -> [(StreamKind, Vec<u8>); 2] {
        debug_assert!(self.pieces.is_empty(), "what waits comes first");
        let end = |track: &mut Track| {
            let mut out = Vec::new();
            track.redactor.finish(&mut out);
            if track.unsure > 0 { Vec::new() } else { out }
        };
        [(StreamKind::Stdout, end(&mut self.stdout)), (StreamKind::Stderr, end(&mut self.stderr))]
    }

    /// Drops the oldest piece, whose buffer is reused, and returns how many bytes that are.
    fn drop_oldest(&mut self, room: &mut Vec<u8>) -> u64 {
        let margin = self.margin;
        let Some(Piece { kind, bytes, .. }) = self.pieces.pop_front() else { return 0 };
        self.bytes -= bytes.len();
        let dropped = self.track(kind).map_or(bytes.len() as u64, |track| track.drop(&bytes, margin));
        *room = bytes;
        dropped
    }

    fn track(&mut self, kind: StreamKind) -> Option<&mut Track> {
        match kind {
            StreamKind::Stdout => Some(&mut self.stdout),
            StreamKind::Stderr => Some(&mut self.stderr),
            StreamKind::Note => None,
        }
    }
}

impl Track {
    /// Drops bytes. With a margin of bytes behind them they are not searched; else the redactor reads them, so that a few
    /// last lines are not lost with them.
    fn drop(&mut self, bytes: &[u8], margin: usize) -> u64 {
        self.waiting -= bytes.len();
        let mut out = Vec::new();
        if self.waiting < margin {
            self.redactor.push(bytes, &mut out);
            self.unsure = self.unsure.saturating_sub(bytes.len());
            return out.len() as u64;
        }
        self.redactor.finish(&mut out);
        self.unsure = margin;
        (out.len() + bytes.len()) as u64
    }

    /// Redacts bytes, and returns how many are dropped because they are too near to a gap.
    fn clean(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> u64 {
        self.waiting -= bytes.len();
        let (near, far) = bytes.split_at(bytes.len().min(self.unsure));
        self.unsure -= near.len();
        self.redactor.push(near, out);
        let dropped = out.len();
        out.clear();
        self.redactor.push(far, out);
        dropped as u64
    }
}

#[cfg(test)]
mod tests {
    use pilot_core::redact::Secrets;

    use super::{Backlog, PIECE};
    use crate::stream::StreamKind;

    #[test]
    fn what_waits_is_bounded_and_never_too_little() {
        for chunk in [1, 1000, PIECE, 3 * PIECE + 1] {
            let mut backlog = Backlog::new(&Secrets::none(), 10_000);
            let bytes = vec![b'.'; chunk];
            let (mut pushed, mut dropped) = (0, 0);
            while pushed < 500_000 {
                dropped += backlog.push(0, StreamKind::Stdout, &bytes, 100);
                pushed += chunk;
                assert!(backlog.bytes <= backlog.enough + 2 * PIECE, "{chunk}: {}", backlog.bytes);
            }
            assert!(dropped > 0 && backlog.bytes >= backlog.enough);
            let (clean, unsure) = backlog.settle();
            let kept: usize = clean.iter().map(|piece| piece.bytes.len()).sum();
            assert!(kept >= 10_000 && backlog.is_empty(), "{chunk}: {kept}");
            assert_eq!(pushed, kept + usize::try_from(dropped + unsure).unwrap());
        }
    }
}
