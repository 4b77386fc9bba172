//! Reads less often from a program that prints as fast as it can: a pure state machine, time is an argument.
//!
//! A writer that is as fast as its reader finds it asleep at nearly every write, and waking it costs both more than the
//! bytes do. If the pipe may fill for a moment, one read takes many writes; network cards coalesce interrupts the same way.
//! The wait grows until a read finds half a pipe, and shrinks when the writer had to wait.

use std::time::Duration;

use tokio::time::Instant;

/// So many bytes without a break count as a flood.
const MUCH: usize = 1024 * 1024;
/// What counts as a break; longer than any wait of ours.
const BREAK: Duration = Duration::from_millis(5);
/// How long the pipe may fill: at first, and at most.
const SHORTEST: Duration = Duration::from_micros(100);
const LONGEST: Duration = Duration::from_millis(1);

/// Decides how long to let the pipe fill before the next read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadPacer {
    pipe: usize,
    heard: Instant,
    burst: usize,
    /// Bytes since the last wait, and its length.
    taken: usize,
    fill: Duration,
    /// Whether the last read found less than it had room for.
    short: bool,
}

impl ReadPacer {
    pub(super) fn new(pipe: usize, now: Instant) -> Self {
        Self { pipe, heard: now, burst: 0, taken: 0, fill: SHORTEST, short: false }
    }

    pub(super) fn heard(&mut self, length: usize, room: usize, now: Instant) {
        if now.duration_since(self.heard) > BREAK {
            *self = Self::new(self.pipe, now);
        }
        self.heard = now;
        self.burst = self.burst.saturating_add(length);
        self.taken = self.taken.saturating_add(length);
        self.short = length < room;
    }

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
        let mut read_pacer = ReadPacer::new(PIPE, start);
        for piece in 0..127 {
            read_pacer.heard(8192, 65_536, at(piece * 10));
            assert_eq!(read_pacer.wait(), None, "{piece}");
        }
        read_pacer.heard(8192, 65_536, at(1280));
        assert!(read_pacer.wait().is_some());
        read_pacer.heard(65_536, 65_536, at(1400));
        assert_eq!(read_pacer.wait(), None, "there may be more at once");
        read_pacer.heard(100, 65_536, at(1500));
        assert!(read_pacer.wait().is_some());
        read_pacer.heard(8192, 65_536, at(7000));
        assert_eq!(read_pacer.wait(), None, "there was a break");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any time will do")]
    fn the_wait_follows_the_writer() {
        let start = Instant::now();
        let mut read_pacer = ReadPacer::new(PIPE, start);
        let mut wait_after = |taken| {
            read_pacer.heard(taken, PIPE + 1, start);
            read_pacer.wait()
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
