//! Looking less often at a program that floods us: a pure machine, to which time is an argument.
//!
//! A writer that is as fast as its reader finds it asleep at nearly every write, and waking it costs both more than the
//! bytes do. Let the pipe fill for a moment, and one look takes many writes; network cards do the same. How long that moment
//! is, the last one tells: it grows until a look finds half a pipe, and shrinks when the writer had to wait.

use std::time::Duration;

use tokio::time::Instant;

/// It floods us once so many bytes came without a break.
const MUCH: usize = 1024 * 1024;
/// A break; longer than any moment we wait ourselves.
const BREAK: Duration = Duration::from_millis(5);
/// The pipe is let to fill for so long, to begin with, and at most.
const SHORTEST: Duration = Duration::from_micros(100);
const LONGEST: Duration = Duration::from_millis(1);

/// How much comes without a break.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flood {
    /// What the pipe holds.
    pipe: usize,
    heard: Instant,
    burst: usize,
    /// What came since the last wait, and how long that was.
    taken: usize,
    fill: Duration,
    /// Whether the last look found less than it had room for.
    short: bool,
}

impl Flood {
    /// Of a pipe that holds so many bytes.
    pub(super) fn new(pipe: usize, now: Instant) -> Self {
        Self { pipe, heard: now, burst: 0, taken: 0, fill: SHORTEST, short: false }
    }

    /// So many bytes came, with room for so many.
    pub(super) fn heard(&mut self, length: usize, room: usize, now: Instant) {
        if now.duration_since(self.heard) > BREAK {
            *self = Self::new(self.pipe, now);
        }
        self.heard = now;
        self.burst = self.burst.saturating_add(length);
        self.taken = self.taken.saturating_add(length);
        self.short = length < room;
    }

    /// How long to let the pipe fill before the next look, which is then to be taken.
    pub(super) fn wait(&mut self) -> Option<Duration> {
        if !self.short || self.burst < MUCH {
            return None;
        }
        let taken = std::mem::take(&mut self.taken);
        if taken >= self.pipe / 8 * 7 {
            self.fill = (self.fill / 2).max(SHORTEST);
        } else if taken < self.pipe / 2 {
            self.fill = (self.fill * 2).min(LONGEST);
        }
        Some(self.fill)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: usize = 1024 * 1024;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any time will do")]
    fn only_a_flood_of_small_pieces_is_looked_at_less_often() {
        let start = Instant::now();
        let at = |micros: u64| start + Duration::from_micros(micros);
        let mut flood = Flood::new(PIPE, start);
        for piece in 0..127 {
            flood.heard(8192, 65_536, at(piece * 10));
            assert_eq!(flood.wait(), None, "{piece}");
        }
        flood.heard(8192, 65_536, at(1280));
        assert!(flood.wait().is_some());
        flood.heard(65_536, 65_536, at(1400));
        assert_eq!(flood.wait(), None, "there may be more at once");
        flood.heard(100, 65_536, at(1500));
        assert!(flood.wait().is_some());
        flood.heard(8192, 65_536, at(7000));
        assert_eq!(flood.wait(), None, "it took a breath");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any time will do")]
    fn the_wait_follows_the_writer() {
        let start = Instant::now();
        let mut flood = Flood::new(PIPE, start);
        let mut wait_after = |taken| {
            flood.heard(taken, PIPE + 1, start);
            flood.wait()
        };
        assert_eq!(wait_after(PIPE), Some(SHORTEST), "the pipe was full");
        assert_eq!(wait_after(1000), Some(2 * SHORTEST));
        assert_eq!(wait_after(1000), Some(4 * SHORTEST));
        assert_eq!(wait_after(PIPE / 2), Some(4 * SHORTEST), "just right");
        for _ in 0..4 {
            assert!(wait_after(1000) <= Some(LONGEST));
        }
        assert_eq!(wait_after(1000), Some(LONGEST));
        assert_eq!(wait_after(PIPE), Some(LONGEST / 2));
    }
}
