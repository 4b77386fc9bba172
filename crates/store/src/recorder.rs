//! Recording a run: redacted, batched and capped.
//!
//! The head and the tail of a recording are kept; a note between them has the number of bytes that are missing. The tail is
//! redacted and written while the agent runs, so that a run that dies still shows what it did last, but at most once a
//! second, so that an agent that prints gigabytes waits for neither the disk nor the search for secrets.

use std::collections::VecDeque;

use pilot_core::redact::Secrets;

use crate::backlog::Backlog;
use crate::error::Result;
use crate::execution::RunId;
use crate::store::Store;
use crate::stream::{Batch, StreamKind, StreamRow};

/// Pieces are joined up to this size.
pub(crate) const PIECE: usize = 64 * 1024;

/// Pieces that come within this time of each other are joined; a tenth of a second is not visible in a replay.
const JOIN_MS: u64 = 100;

/// What waits longer than this is due, or what is more than [`PIECE`].
const DUE_MS: u64 = 250;

/// The same behind the head, where most bytes are dropped again.
const DUE_IN_TAIL_MS: u64 = 1000;

/// How much of a recording is kept, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    pub head: usize,
    pub tail: usize,
}

impl Cap {
    /// So many bytes in all, a quarter of them for the tail.
    pub fn of(bytes: usize) -> Cap {
        Cap { head: bytes - bytes / 4, tail: bytes / 4 }
    }
}

impl Default for Cap {
    /// 8 MiB in all.
    fn default() -> Cap {
        Cap::of(8 * 1024 * 1024)
    }
}

/// Records what one run's agent prints. Takes bytes without waiting; [`StreamRecorder::flush`] writes them. What it holds in
/// memory exceeds the cap by at most the tail once more and what redacting it takes, even when nothing can be written.
#[derive(Debug)]
pub struct StreamRecorder {
    run: RunId,
    cap: Cap,
    secrets: Secrets,
    /// Behind the head, what is not redacted yet.
    backlog: Backlog,
    next: u64,
    /// Bytes that are left for the head.
    head_left: usize,
    /// The pieces that wait to be written, and how much they are.
    waiting: VecDeque<StreamRow>,
    waiting_bytes: usize,
    /// What is behind the head; none until the head is full.
    tail: Option<Tail>,
    flushed_ms: u64,
}

#[derive(Debug)]
struct Tail {
    /// The note's place, between head and tail.
    note: u64,
    /// Place and size of the pieces that are written.
    written: VecDeque<(u64, usize)>,
    /// Size of the pieces that are kept, written or waiting.
    bytes: usize,
    dropped: u64,
    /// Something was dropped between the pieces that are kept and what still waits to be redacted.
    hole: bool,
    /// Written pieces are to be forgotten up to here.
    forget: Option<u64>,
}

impl StreamRecorder {
    /// A recorder for a run that is stored. Takes out the same secrets as the store.
    pub fn new(store: &Store, run: RunId, cap: Cap) -> StreamRecorder {
        let secrets = store.secrets().clone();
        StreamRecorder {
            run,
            cap,
            backlog: Backlog::new(&secrets, cap.tail),
            secrets,
            next: 0,
            head_left: cap.head,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            tail: None,
            flushed_ms: 0,
        }
    }

    /// Takes bytes of the agent's standard output.
    pub fn stdout(&mut self, at_ms: u64, bytes: &[u8]) {
        self.take(at_ms, StreamKind::Stdout, bytes);
    }

    /// Takes bytes of the agent's standard error.
    pub fn stderr(&mut self, at_ms: u64, bytes: &[u8]) {
        self.take(at_ms, StreamKind::Stderr, bytes);
    }

    /// Takes a note of Pilot's own: one line.
    pub fn note(&mut self, at_ms: u64, text: &str) {
        let clean = self.secrets.redact(text);
        self.take(at_ms, StreamKind::Note, clean.as_bytes());
    }

    /// Whether [`flush`](StreamRecorder::flush) is due.
    pub fn is_due(&self, at_ms: u64) -> bool {
        let waited = at_ms.saturating_sub(self.flushed_ms);
        match (&self.tail, self.waiting.is_empty() && self.backlog.is_empty()) {
            (_, true) => false,
            (None, false) => waited >= DUE_MS || self.waiting_bytes >= PIECE,
            (Some(_), false) => waited >= DUE_IN_TAIL_MS,
        }
    }

    /// Writes what waits, in one transaction. When that fails, it stays for the next call.
    pub async fn flush(&mut self, store: &Store, at_ms: u64) -> Result<()> {
        self.flushed_ms = at_ms;
        self.settle();
        let note = self.tail.as_ref().and_then(|tail| tail.note_row(at_ms));
        let forget = self.tail.as_ref().and_then(|tail| Some((tail.note, tail.forget?)));
        let rows: Vec<&StreamRow> = note.iter().chain(&self.waiting).collect();
        if rows.is_empty() {
            return Ok(());
        }
        store.append_stream(&self.run, &Batch { rows, forget }).await?;
        if let Some(tail) = &mut self.tail {
            let behind = self.waiting.iter().filter(|row| row.seq > tail.note);
            tail.written.extend(behind.map(|row| (row.seq, row.bytes.len())));
            tail.forget = None;
        }
        self.waiting.clear();
        self.waiting_bytes = 0;
        Ok(())
    }

    /// Writes what is left at the end of the output.
    pub async fn finish(&mut self, store: &Store, at_ms: u64) -> Result<()> {
        self.settle();
        for (kind, clean) in self.backlog.finish() {
            self.add(at_ms, kind, &clean);
        }
        self.flush(store, at_ms).await
    }

    /// Bytes of the head are all kept, so they are redacted at once.
    fn take(&mut self, at_ms: u64, kind: StreamKind, bytes: &[u8]) {
        if let Some(tail) = &mut self.tail {
            let dropped = self.backlog.push(at_ms, kind, bytes, JOIN_MS);
            tail.dropped += dropped;
            tail.hole |= dropped > 0;
            return;
        }
        let mut clean = Vec::with_capacity(bytes.len());
        self.backlog.redact(kind, bytes, &mut clean);
        self.add(at_ms, kind, &clean);
    }

    /// Redacts what waits for it.
    fn settle(&mut self) {
        let (clean, dropped) = self.backlog.settle();
        if let Some(tail) = &mut self.tail {
            tail.dropped += dropped;
            if std::mem::take(&mut tail.hole) {
                // The tail is in one piece, or it would show lines the agent did not print.
                self.drop_oldest(0);
            }
        }
        for piece in clean {
            self.add(piece.at_ms, piece.kind, &piece.bytes);
        }
    }

    fn add(&mut self, at_ms: u64, kind: StreamKind, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_left));
        self.head_left -= head.len();
        self.keep(at_ms, kind, head);
        if rest.is_empty() {
            return;
        }
        // Of a chunk larger than the whole tail only its end can be kept.
        let kept = &rest[rest.len().saturating_sub(self.cap.tail)..];
        let next = &mut self.next;
        let tail = self.tail.get_or_insert_with(|| Tail::new(take_place(next)));
        tail.dropped += (rest.len() - kept.len()) as u64;
        tail.bytes += kept.len();
        self.keep(at_ms, kind, kept);
        self.drop_oldest(self.cap.tail);
    }

    /// Joins bytes to the last piece, or makes new ones.
    fn keep(&mut self, at_ms: u64, kind: StreamKind, bytes: &[u8]) {
        for bytes in bytes.chunks(PIECE) {
            self.waiting_bytes += bytes.len();
            // A note is a line of its own; and what is behind the note is not joined to what is before it.
            let joins = |last: &&mut StreamRow| {
                last.kind == kind
                    && kind != StreamKind::Note
                    && last.bytes.len() + bytes.len() <= PIECE
                    && at_ms.saturating_sub(last.at_ms) < JOIN_MS
                    && last.seq + 1 == self.next
            };
            match self.waiting.back_mut().filter(joins) {
                Some(last) => last.bytes.extend_from_slice(bytes),
                None => {
                    let seq = take_place(&mut self.next);
                    self.waiting.push_back(StreamRow { seq, at_ms, kind, bytes: bytes.to_vec() });
                }
            }
        }
    }

    /// Drops the oldest pieces of the tail until so many bytes are left.
    fn drop_oldest(&mut self, most: usize) {
        let Some(tail) = &mut self.tail else { return };
        while tail.bytes > most {
            let gone = match tail.written.pop_front() {
                Some((seq, bytes)) => {
                    tail.forget = Some(seq + 1);
                    bytes
                }
                None => {
                    let surplus = tail.bytes - most;
                    let Some(oldest) = self.waiting.iter().position(|row| row.seq > tail.note) else {
                        return;
                    };
                    let bytes = &mut self.waiting[oldest].bytes;
                    let gone = bytes.len().min(surplus);
                    bytes.drain(..gone);
                    if bytes.is_empty() {
                        self.waiting.remove(oldest);
                    }
                    self.waiting_bytes -= gone;
                    gone
                }
            };
            tail.bytes -= gone;
            tail.dropped += gone as u64;
        }
    }
}

impl Tail {
    fn new(note: u64) -> Tail {
        Tail { note, written: VecDeque::new(), bytes: 0, dropped: 0, hole: false, forget: None }
    }

    fn note_row(&self, at_ms: u64) -> Option<StreamRow> {
        let text = format!("{} bytes of output are not kept here", self.dropped);
        let row = StreamRow { seq: self.note, at_ms, kind: StreamKind::Note, bytes: text.into_bytes() };
        (self.dropped > 0).then_some(row)
    }
}

fn take_place(next: &mut u64) -> u64 {
    let place = *next;
    *next += 1;
    place
}
