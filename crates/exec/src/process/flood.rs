//! Looking less often at a program that floods us: a pure machine, to which time is an argument.
//!
//! A writer that is as fast as its reader finds it asleep at nearly every write, and waking it costs both more than the
//! bytes do. Let the pipe fill for a moment, and one look takes many writes; network cards do the same.

use std::time::Duration;

use tokio::time::Instant;

/// It floods us once so many bytes came without a break.
const MUCH: usize = 1024 * 1024;
/// A break.
const BREAK: Duration = Duration::from_millis(1);
/// The pipe is let to fill for so long. A fast writer needs a little longer to fill all of it.
const FILL: Duration = Duration::from_micros(100);

/// How much comes without a break.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flood {
    heard: Instant,
    burst: usize,
    /// Whether the last look found less than it had room for.
    short: bool,
}

impl Flood {
    pub(super) fn new(now: Instant) -> Self {
        Self { heard: now, burst: 0, short: false }
    }

    /// So many bytes came, with room for so many.
    pub(super) fn heard(&mut self, length: usize, room: usize, now: Instant) {
        if now.duration_since(self.heard) > BREAK {
            self.burst = 0;
        }
        self.heard = now;
        self.burst = self.burst.saturating_add(length);
        self.short = length < room;
    }

    /// How long to let the pipe fill before the next look.
    pub(super) fn wait(&self) -> Option<Duration> {
        (self.short && self.burst >= MUCH).then_some(FILL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any time will do")]
    fn only_a_flood_of_small_pieces_is_looked_at_less_often() {
        let start = Instant::now();
        let at = |micros: u64| start + Duration::from_micros(micros);
        let mut flood = Flood::new(start);
        for piece in 0..127 {
            flood.heard(8192, 65_536, at(piece * 10));
            assert_eq!(flood.wait(), None, "{piece}");
        }
        flood.heard(8192, 65_536, at(1280));
        assert_eq!(flood.wait(), Some(FILL));
        flood.heard(65_536, 65_536, at(1400));
        assert_eq!(flood.wait(), None, "there may be more at once");
        flood.heard(100, 65_536, at(1500));
        assert_eq!(flood.wait(), Some(FILL));
        flood.heard(8192, 65_536, at(3000));
        assert_eq!(flood.wait(), None, "it took a breath");
    }
}
