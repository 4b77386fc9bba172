//! How long nothing has moved, the time with background work running left out.

use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub(super) struct QuietClock {
    since: Duration,
    /// How long it stood still since then, up to the last release.
    stood: Duration,
    /// Since when it stands still now.
    standing_from: Option<Duration>,
}

impl QuietClock {
    pub(super) fn restart(&mut self, at: Duration) {
        self.since = at;
        self.stood = Duration::ZERO;
        self.standing_from = self.standing_from.map(|_| at);
    }

    /// Stands still from now on, or runs again.
    pub(super) fn stand_still(&mut self, still: bool, at: Duration) {
        match (self.standing_from, still) {
            (None, true) => self.standing_from = Some(at),
            (Some(from), false) => {
                self.stood += at.saturating_sub(from);
                self.standing_from = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    pub(super) fn quiet(&self, at: Duration) -> Duration {
        let until = self.standing_from.unwrap_or(at);
        until.saturating_sub(self.since).saturating_sub(self.stood)
    }

    pub(super) fn is_running(&self) -> bool {
        self.standing_from.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::QuietClock;

    #[test]
    fn time_standing_still_does_not_count() {
        let at = Duration::from_secs;
        let mut clock = QuietClock::default();
        assert_eq!(clock.quiet(at(5)), at(5));
        clock.stand_still(true, at(5));
        clock.stand_still(true, at(6));
        assert_eq!((clock.quiet(at(100)), clock.is_running()), (at(5), false));
        clock.stand_still(false, at(100));
        clock.stand_still(false, at(101));
        assert_eq!((clock.quiet(at(103)), clock.is_running()), (at(8), true));
        clock.restart(at(103));
        assert_eq!(clock.quiet(at(104)), at(1));
        clock.stand_still(true, at(110));
        clock.restart(at(120));
        assert_eq!(clock.quiet(at(130)), at(0));
        clock.stand_still(false, at(140));
        assert_eq!(clock.quiet(at(141)), at(1));
    }
}
