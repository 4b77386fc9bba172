//! When a program must be stopped or killed: a pure state machine, time is an argument.

use std::time::Duration;

use tokio::time::Instant;

use super::launch::Deadlines;

/// How long the program's descendants may outlive it: enough to finish a write, too short to delay a run.
const LEAK: Duration = Duration::from_secs(1);
/// How long the keeper has to carry out a KILL before it is killed itself, and the kernel to carry out that.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The deadline has passed: send TERM.
    Deadline,
    /// No output for too long: send TERM.
    Silence,
    /// The grace period has passed and processes still run: send KILL.
    Kill,
    /// The keeper did not carry out the KILL: kill the keeper.
    Abandon,
    /// Even that had no effect: stop waiting.
    GiveUp,
}

/// The deadlines of one program and how far stopping it has got.
#[derive(Clone, Debug)]
pub(super) struct StopClock {
    deadlines: Deadlines,
    started: Instant,
    heard: Instant,
    listening: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Runs,
    Asked { until: Instant },
    Exited { until: Instant },
    Killed { at: Instant },
    Abandoned { at: Instant },
}

impl StopClock {
    pub(super) fn new(deadlines: Deadlines, now: Instant) -> Self {
        Self { deadlines, started: now, heard: now, listening: true, state: State::Runs }
    }

    pub(super) fn started(&self) -> Instant {
        self.started
    }

    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Whether silence counts. When it counts again, it counts from now.
    pub(super) fn listen(&mut self, listening: bool, now: Instant) {
        self.listening = listening;
        self.heard = now;
    }

    /// TERM was sent. A second one can only shorten the grace period.
    pub(super) fn asked(&mut self, grace: Duration, now: Instant) {
        let until = now + grace;
        self.state = match self.state {
            State::Runs => State::Asked { until },
            State::Asked { until: before } => State::Asked { until: before.min(until) },
            State::Exited { until: before } => State::Exited { until: before.min(until) },
            state @ (State::Killed { .. } | State::Abandoned { .. }) => state,
        };
    }

    /// Its own process has ended; its descendants may still run.
    pub(super) fn exited(&mut self, now: Instant) {
        self.state = match self.state {
            State::Runs => State::Exited { until: now + LEAK },
            State::Asked { until } => State::Exited { until: until.min(now + LEAK) },
            state @ (State::Exited { .. } | State::Killed { .. } | State::Abandoned { .. }) => state,
        };
    }

    pub(super) fn killed(&mut self, now: Instant) {
        self.state = match self.state {
            State::Runs | State::Asked { .. } | State::Exited { .. } => State::Killed { at: now },
            state @ (State::Killed { .. } | State::Abandoned { .. }) => state,
        };
    }

    pub(super) fn abandoned(&mut self, now: Instant) {
        self.state = State::Abandoned { at: now };
    }

    pub(super) fn next(&self) -> Option<(Instant, Due)> {
        let deadline = |due, from: Instant, time: Option<Duration>| Some((from.checked_add(time?)?, due));
        match self.state {
            State::Runs => {
                let total = deadline(Due::Deadline, self.started, self.deadlines.total);
                let silence = deadline(Due::Silence, self.heard, self.deadlines.silence);
                let silence = silence.filter(|_| self.listening);
                [total, silence].into_iter().flatten().min_by_key(|(at, _)| *at)
            }
            State::Asked { until } | State::Exited { until } => Some((until, Due::Kill)),
            State::Killed { at } => Some((at + PATIENCE, Due::Abandon)),
            State::Abandoned { at } => Some((at + PATIENCE, Due::GiveUp)),
        }
    }

    /// What is overdue except silence, which is known only after polling for output.
    pub(super) fn overdue(&self, now: Instant) -> Option<Due> {
        self.next().filter(|(at, due)| *at <= now && *due != Due::Silence).map(|(_, due)| due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[expect(clippy::disallowed_methods, reason = "any instant will do")]
    fn watch(total: Option<u64>, silence: Option<u64>) -> (StopClock, Instant) {
        let start = Instant::now();
        let deadlines = Deadlines { total: total.map(secs), silence: silence.map(secs), grace: secs(5) };
        (StopClock::new(deadlines, start), start)
    }

    #[test]
    fn without_deadlines_nothing_is_ever_due() {
        let (watch, start) = watch(None, None);
        assert_eq!((watch.next(), watch.overdue(start + secs(1_000_000))), (None, None));
    }

    #[test]
    fn whichever_comes_first_is_due() {
        let (mut watch, start) = watch(Some(10), Some(4));
        assert_eq!(watch.next(), Some((start + secs(4), Due::Silence)));
        assert_eq!(watch.overdue(start + secs(5)), None, "silence is decided after polling for output");
        watch.heard(start + secs(3));
        assert_eq!(watch.next(), Some((start + secs(7), Due::Silence)));
        watch.heard(start + secs(8));
        assert_eq!(watch.next(), Some((start + secs(10), Due::Deadline)));
        assert_eq!(watch.overdue(start + secs(10)), Some(Due::Deadline));
    }

    #[test]
    fn silence_can_be_suspended_and_restarts() {
        let (mut watch, start) = watch(None, Some(4));
        watch.listen(false, start + secs(1));
        assert_eq!(watch.next(), None);
        watch.listen(true, start + secs(100));
        assert_eq!(watch.next(), Some((start + secs(104), Due::Silence)));
    }

    #[test]
    fn every_step_of_an_ending_has_a_next_one() {
        let (mut watch, start) = watch(Some(10), None);
        watch.asked(secs(5), start);
        assert_eq!(watch.next(), Some((start + secs(5), Due::Kill)));
        watch.asked(secs(1), start);
        watch.asked(secs(9), start);
        assert_eq!(watch.next(), Some((start + secs(1), Due::Kill)));
        watch.exited(start);
        assert_eq!(watch.next(), Some((start + LEAK, Due::Kill)));
        watch.asked(secs(9), start);
        assert_eq!(watch.next(), Some((start + LEAK, Due::Kill)));
        watch.asked(secs(0), start);
        assert_eq!(watch.next(), Some((start, Due::Kill)));
        watch.killed(start);
        watch.exited(start + secs(1));
        assert_eq!(watch.next(), Some((start + PATIENCE, Due::Abandon)));
        watch.abandoned(start);
        assert_eq!(watch.next(), Some((start + PATIENCE, Due::GiveUp)));
    }
}
